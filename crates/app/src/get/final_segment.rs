//! The last segment of an object. All Data must agree about it.

use weir_packet::{Data, Name};

use super::GetError;

/// The last segment as declared by the Data so far.
#[derive(Debug)]
pub(super) struct FinalSegment {
    last: Option<u64>,
    /// The newest segment received.
    highest: u64,
}

impl FinalSegment {
    /// Starts with the last segment from the metadata, if any.
    pub(super) fn new(last: Option<u64>) -> FinalSegment {
        FinalSegment { last, highest: 0 }
    }

    /// The last segment, if known.
    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Records a segment's FinalBlockId.
    pub(super) fn hear(&mut self, object: &Name, segment: u64, data: &Data<'_>) -> Result<(), GetError> {
        self.highest = self.highest.max(segment);
        let said = data.meta.final_block_id.and_then(|last| last.segment());
        let contradiction = match (self.last, said) {
            (Some(before), Some(now)) if before != now => Some((before, now)),
            (_, Some(now)) if now < self.highest => Some((self.highest, now)),
            (Some(before), None) if before < segment => Some((before, segment)),
            _ => None,
        };
        if let Some((before, now)) = contradiction {
            return Err(GetError::End { object: object.clone(), segment, before, now });
        }
        self.last = self.last.or(said);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_packet::{Component, MetaInfo, SignatureInfo, SignatureType, component_type};

    /// Records the last segment that a segment declares. Returns the last segment if known, or the contradiction.
    fn hear(ends: &mut FinalSegment, segment: u64, says: Option<u64>) -> Result<Option<u64>, (u64, u64)> {
        let object: Name = "/a/v=1".parse().unwrap();
        let name = object.clone().with_segment(segment);
        let mut buffer = [0; 8];
        let last = says.map(|last| Component::number(component_type::SEGMENT, last, &mut buffer));
        let meta = MetaInfo { final_block_id: last, ..MetaInfo::NONE };
        let info = SignatureInfo::new(SignatureType::Null);
        let data = Data { meta, ..Data::new(name.view(), b"", info) };
        match ends.hear(&object, segment, &data) {
            Err(GetError::End { before, now, .. }) => Err((before, now)),
            other => Ok(other.map(|()| ends.last()).unwrap()),
        }
    }

    #[test]
    fn the_end_is_learned_once_and_not_taken_back() {
        let mut ends = FinalSegment::new(None);
        assert_eq!(hear(&mut ends, 3, None), Ok(None));
        assert_eq!(hear(&mut ends, 0, Some(9)), Ok(Some(9)));
        assert_eq!(hear(&mut ends, 1, None), Ok(Some(9)));
        assert_eq!(hear(&mut ends, 2, Some(8)), Err((9, 8)));
        assert_eq!(hear(&mut ends, 10, None), Err((9, 10)));
    }

    #[test]
    fn an_end_before_what_came_already_is_none() {
        let mut ends = FinalSegment::new(None);
        assert_eq!(hear(&mut ends, 5, None), Ok(None));
        assert_eq!(hear(&mut ends, 2, Some(4)), Err((5, 4)));
        assert_eq!(hear(&mut FinalSegment::new(None), 7, Some(3)), Err((7, 3)));
        assert_eq!(hear(&mut FinalSegment::new(Some(6)), 0, Some(3)), Err((6, 3)), "as metadata said");
    }
}
