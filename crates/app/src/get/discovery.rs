//! Which object a name means: the version, and where it ends if that is said.
//!
//! ```text
//!   a name with a version ---------------------------------------------> as it is
//!   /object --- /object/32=metadata ---- Data ----> what the metadata say
//!                        |
//!                        +-- no answer --- /object (CanBePrefix) --- Data ----> by its name
//! ```

use weir_packet::{ContentType, Data, Name};

use super::asker::{Asker, TRIES};
use super::{GetError, Object};
use crate::rdr::{Metadata, metadata_name};
use crate::{Answered, Question};

/// Finds the object that a name means.
pub(super) fn find(name: &Name, asker: &mut Asker<'_, '_>) -> Result<Object, GetError> {
    if name.view().last().is_some_and(|last| last.version().is_some()) {
        return Ok(Object::named(name.clone()));
    }
    let mut outcome = GetError::Unanswered(name.clone());
    for lifetime in TRIES {
        let question = Question {
            can_be_prefix: true,
            must_be_fresh: true,
            lifetime,
            tries: 1,
            ..Question::new(metadata_name(name))
        };
        match asker.ask(question, &mut |_, _| {})? {
            Answered::Data(wire) => return described(name, &asker.verify(name, wire)?),
            Answered::Nack(_) | Answered::Timeout => {}
        }
        let question = Question {
            can_be_prefix: true,
            must_be_fresh: true,
            lifetime,
            tries: 1,
            ..Question::new(name.clone())
        };
        match asker.ask(question, &mut |_, _| {})? {
            Answered::Data(wire) => return named(name, asker.verify(name, wire)?),
            Answered::Nack(reason) => outcome = GetError::Nack(name.clone(), reason),
            Answered::Timeout => {}
        }
    }
    Err(outcome)
}

/// The object that metadata are of.
fn described(name: &Name, wire: &[u8]) -> Result<Object, GetError> {
    let wrong = |error| GetError::Metadata(name.clone(), error);
    let data = Data::decode(wire).map_err(wrong)?;
    if data.meta.content_type == Some(ContentType::Nack) {
        return Err(GetError::Absent(data.name.to_name()));
    }
    let Metadata { versioned, last_segment } = Metadata::decode(data.payload()).map_err(wrong)?;
    Ok(Object { name: versioned, last_segment, whole: None })
}

/// The object that a Data is of whose name begins so: its segments stand beside this one, or it is the whole.
fn named(asked: &Name, wire: Vec<u8>) -> Result<Object, GetError> {
    let data = Data::decode(&wire).map_err(|error| GetError::Metadata(asked.clone(), error))?;
    if data.meta.content_type == Some(ContentType::Nack) {
        return Err(GetError::Absent(data.name.to_name()));
    }
    let is_segment = data.name.last().is_some_and(|last| last.segment().is_some());
    if is_segment && data.name.len() > asked.view().len() {
        return Ok(Object::named(data.name.parent().to_name()));
    }
    let name = data.name.to_name();
    let whole = Some((data.payload().to_vec(), data.signature.info.typ));
    Ok(Object { name, last_segment: None, whole })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_packet::{MetaInfo, SignatureInfo, SignatureType};

    fn data(name: &str, content: &[u8], content_type: Option<ContentType>) -> Vec<u8> {
        let name: Name = name.parse().unwrap();
        let meta = MetaInfo { content_type, ..MetaInfo::NONE };
        Data { meta, ..Data::new(name.view(), content, SignatureInfo::new(SignatureType::Null)) }.to_vec()
    }

    #[test]
    fn a_data_tells_the_object_by_its_name() {
        let asked: Name = "/a".parse().unwrap();
        let object = named(&asked, data("/a/v=7/seg=3", b"x", None)).unwrap();
        assert_eq!(object, Object::named("/a/v=7".parse().unwrap()));
        for whole in ["/a/v=7", "/a", "/a/b"] {
            let object = named(&asked, data(whole, b"x", None)).unwrap();
            assert_eq!(object.name.to_string(), whole);
            assert_eq!(object.whole, Some((b"x".to_vec(), SignatureType::Null)));
        }
        let asked: Name = "/a/seg=3".parse().unwrap();
        assert!(
            named(&asked, data("/a/seg=3", b"x", None)).unwrap().whole.is_some(),
            "it was asked for itself"
        );
    }

    #[test]
    fn metadata_and_nacks_are_told_apart_from_what_is_neither() {
        let asked: Name = "/a".parse().unwrap();
        let metadata = Metadata { versioned: "/a/v=7".parse().unwrap(), last_segment: Some(4) };
        let mut content = Vec::new();
        metadata.encode(&mut content);
        let object = described(&asked, &data("/a/32=metadata/v=1/seg=0", &content, None)).unwrap();
        assert_eq!((object.name, object.last_segment), (metadata.versioned, Some(4)));
        let wrong = described(&asked, &data("/a/32=metadata/v=1/seg=0", b"hello", None)).unwrap_err();
        assert!(wrong.to_string().starts_with("the metadata of /a cannot be read"), "{wrong}");
        let nack = data("/a/32=metadata/v=1/seg=0", b"", Some(ContentType::Nack));
        assert!(matches!(described(&asked, &nack), Err(GetError::Absent(_))));
        assert!(matches!(named(&asked, nack), Err(GetError::Absent(_))));
    }
}
