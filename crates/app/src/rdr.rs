//! Realtime Data Retrieval (RDR): the protocol for discovering the newest version of an object.
//!
//! ```text
//!   Interest  /object/32=metadata                   CanBePrefix, MustBeFresh
//!   Data      /object/32=metadata/v=…/seg=0         content: Name /object/v=…  [FinalBlockId]
//! ```
//!
//! The format is that of ndn-cxx, ndnd and NDNts. Other elements of the content may follow and are ignored.

use weir_packet::tlv::{Reader, put_header, types};
use weir_packet::{Component, DecodeError, Name, NameRef};

/// The keyword component of metadata names.
pub(crate) const METADATA: Component<'static> = Component::keyword(b"metadata");

/// The name to request in order to discover the newest version of an object.
pub fn metadata_name(object: &Name) -> Name {
    object.clone().with(METADATA)
}

/// Metadata of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The object's name with version.
    pub versioned: Name,
    /// The object's last segment, if given.
    pub last_segment: Option<u64>,
}

impl Metadata {
    /// Appends the encoded content.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.versioned.view().encode(out);
        if let Some(last) = self.last_segment {
            let mut buffer = [0; 8];
            let component = Component::number(weir_packet::component_type::SEGMENT, last, &mut buffer);
            put_header(out, types::FINAL_BLOCK_ID, component.wire_len());
            component.encode(out);
        }
    }

    /// Decodes the content.
    ///
    /// # Errors
    /// Returns an error if it does not begin with a Name, or has an unknown critical element.
    pub fn decode(content: &[u8]) -> Result<Metadata, DecodeError> {
        let mut reader = Reader::new(content);
        let versioned = NameRef::from_element(&reader.expect(types::NAME)?)?.to_name();
        let mut last_segment = None;
        while let Some(element) = reader.element()? {
            match element.typ {
                types::FINAL_BLOCK_ID => {
                    let component = element.reader().element()?.map(|inner| Component::from_element(&inner));
                    last_segment = component.transpose()?.and_then(|component| component.segment());
                }
                _ => element.ignore()?,
            }
        }
        Ok(Metadata { versioned, last_segment })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn metadata_come_back() {
        let versioned = "/a/b".parse::<Name>().unwrap().with_version(1_700_000_000_000_000);
        for last_segment in [None, Some(0), Some(70_000)] {
            let metadata = Metadata { versioned: versioned.clone(), last_segment };
            let mut content = Vec::new();
            metadata.encode(&mut content);
            assert_eq!(Metadata::decode(&content).unwrap(), metadata);
            content.extend_from_slice(&[0xFD, 0xF5, 0x02, 1, 9]);
            assert_eq!(Metadata::decode(&content).unwrap(), metadata, "what follows is ignored");
            for cut in 0..content.len() {
                let _ = Metadata::decode(&content[..cut]);
            }
        }
        assert_eq!(metadata_name(&"/a".parse().unwrap()).to_string(), "/a/32=metadata");
    }
}
