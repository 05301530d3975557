//! No Interest makes management panic.
#[path = "../../../management/tests/values/mod.rs"]
mod values;

use crate::mock::{Mock, face};
use proptest::collection::vec;
use proptest::prelude::*;
use weir_core::units::{Span, Time};
use weir_forwarder::control::Control;
use weir_forwarder::management::{Management, ManagementConfig, Policy, Trust};
use weir_management::dataset::FaceQueryFilter;
use weir_management::status::FaceScope;
use weir_management::{ControlParameters, ControlResponse};
use weir_packet::{Component, Data, Interest, Name, SignatureInfo, SignatureType, Signer};

use values::{control_parameters, encoded, filter};

proptest! {
    /// Any packet from any face gets at most one reply, a Data under the Interest's name; and another host changes nothing.
    #[test]
    fn no_interest_makes_management_panic(
        asked in vec((verb(), parameters(), any::<bool>(), 1..4_u64, 0..200_u64), 1..12),
        raw in vec(any::<u8>(), 0..40),
    ) {
        let policy = Policy { max_remembered: 5, ..Policy { localhop: Some(Trust::KnownKeys), ..Policy::default() } };
        let mut management = Management::new(ManagementConfig { policy, max_routes: 4, ..Default::default() });
        let mut mock = Mock::new();
        let incoming = face(1, "fd://7", FaceScope::Local);
        let mut replies = Vec::new();
        management.handle_interest(Time::ZERO, 0, &raw, &incoming, &mut mock, &mut replies);
        for (at, (verb, parameters, is_signed, number, time_ms)) in asked.into_iter().enumerate() {
            let Some(incoming) = mock.face(number) else { continue };
            let name = verb.parse::<Name>().unwrap().with(Component::generic(&parameters));
            let interest = Interest { can_be_prefix: at % 2 == 0, ..Interest::new(name.view()) };
            let mut wire = interest.to_vec();
            if is_signed {
                let info = SignatureInfo::new(SignatureType::DigestSha256);
                let info = SignatureInfo { time_ms: Some(time_ms), ..info };
                wire.clear();
                interest.sign(&Signer::digest(), info, &mut wire).unwrap();
            }
            let name = Interest::decode(&wire).unwrap().name;
            let now = Time::ZERO + Span::from_millis(time_ms);
            let before = format!("{mock:?}");
            replies.clear();
            management.handle_interest(now, 100, &wire, &incoming, &mut mock, &mut replies);
            prop_assert!(replies.len() <= 1);
            for reply in &replies {
                let data = Data::decode(reply).unwrap();
                prop_assert!(data.name.starts_with(name));
                if number != 1 {
                    prop_assert!(matches!(ControlResponse::decode(data.payload()).unwrap().code, 403 | 501));
                }
            }
            let after = format!("{mock:?}");
            prop_assert!(number == 1 || before == after);
            management.handle_deadline(now, &mut mock, &mut replies);
            prop_assert!(management.next_deadline() > now);
        }
    }
}

fn verb() -> impl Strategy<Value = String> {
    let first = prop::sample::select(vec!["localhost", "localhost", "localhop", "a"]);
    let verb = prop::sample::select(vec![
        "rib/register",
        "rib/unregister",
        "rib/announce",
        "rib/list",
        "faces/create",
        "faces/update",
        "faces/destroy",
        "faces/query",
        "faces/events",
        "fib/add-nexthop",
        "fib/remove-nexthop",
        "strategy-choice/set",
        "strategy-choice/unset",
        "cs/config",
        "cs/erase",
        "cs/what",
        "x",
    ]);
    (first, verb).prop_map(|(first, verb)| format!("/{first}/nfd/{verb}"))
}

fn parameters() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => control_parameters().prop_map(|parameters| encoded(&[parameters], ControlParameters::encode)),
        1 => filter().prop_map(|filter| encoded(&[filter], FaceQueryFilter::encode)),
        1 => vec(any::<u8>(), 0..30),
    ]
}
