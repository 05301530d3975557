//! Fetches and verifies single Data, together with the certificates that the verification needs.

use core::ops::ControlFlow;

use weir_core::units::{Span, Time};
use weir_keychain::{Moment, Reason, Step, Validator};
use weir_net::clock::wall_ms;
use weir_packet::{NackReason, Name, ServiceClass};

use super::{Each, GetError, Progress, told};
use crate::{App, Event, OwnedReply, PendingId, SingleInterest};

/// Interval at which the user is informed and may stop.
pub(super) const TICK: Span = Span::from_millis(100);

/// Lifetime of the first Interest for a single Data. It doubles up to the longest.
const FIRST_TRY: Span = Span::from_secs(1);
const LONGEST_TRY: Span = Span::from_secs(4);
/// Number of consecutive Nacks with the reason NoRoute, a tick apart, that end the fetch. Fewer may be temporary.
const NO_ROUTES: u32 = 3;
/// How long to ask for a certificate that may not exist: two tries.
const SOUGHT: Span = Span::from_secs(2);

/// Number of repeated requests for a rejected Data, and the maximum time of each.
const AGAIN: u32 = 3;
const AGAIN_EACH: Span = Span::from_secs(3);

/// Receives other events meanwhile.
pub(super) type Meanwhile<'a> = dyn FnMut(Time, Event<'_>) + 'a;

/// The wall-clock time, for the validity of certificates.
pub(super) fn now() -> Moment {
    Moment::from_unix_ms(wall_ms())
}

/// Fetches single Data for a transfer, with its class and patience.
pub(super) struct Requester<'a, 'w> {
    pub(super) app: &'a mut App,
    pub(super) validator: &'a mut Validator,
    /// The forwarding hint of the Interests.
    pub(super) hint: &'a [Name],
    pub(super) class: ServiceClass,
    /// How long to ask for a Data; `None`: forever.
    pub(super) patience: Option<Span>,
    /// Receives progress and rejected Data, and decides whether to continue.
    pub(super) each: &'a mut Each<'w>,
}

/// The tries to fetch a Data.
pub(super) struct Tries {
    /// The requested name, for errors.
    name: Name,
    until: Time,
    lifetime: Span,
    /// Number of sent Interests.
    pub(super) count: u32,
    /// Number of consecutive Nacks with the reason NoRoute.
    no_routes: u32,
    /// The reason, if a Nack ended the last try.
    nack: Option<NackReason>,
}

impl Tries {
    fn over(&self) -> GetError {
        let name = self.name.clone();
        self.nack.map_or(GetError::Unanswered(name.clone()), |reason| GetError::Nack(name, reason))
    }
}

impl Requester<'_, '_> {
    /// An Interest for a name, with the forwarding hint.
    pub(super) fn interest(&self, name: Name) -> SingleInterest {
        SingleInterest { hint: self.hint.to_vec(), ..SingleInterest::new(name) }
    }

    /// Starts the tries for a name. The patience counts from now on.
    pub(super) fn tries(&self, name: &Name) -> Tries {
        let until = self.patience.map_or(Time::NEVER, |patience| self.app.now() + patience);
        Tries { name: name.clone(), until, lifetime: FIRST_TRY, count: 0, no_routes: 0, nack: None }
    }

    /// Expresses an Interest once more. Returns the Data, if one arrived.
    ///
    /// # Errors
    /// Returns an error if the patience is over, or there is no route.
    pub(super) fn again(
        &mut self,
        tries: &mut Tries,
        interest: &SingleInterest,
        meanwhile: &mut Meanwhile<'_>,
    ) -> Result<Option<Vec<u8>>, GetError> {
        let now = self.app.now();
        if now >= tries.until || tries.no_routes == NO_ROUTES {
            return Err(tries.over());
        }
        tries.count += 1;
        let lifetime = tries.lifetime.min(tries.until.since(now));
        let interest = SingleInterest { lifetime, tries: 1, class: self.class, ..interest.clone() };
        match self.express(interest, meanwhile)? {
            OwnedReply::Data(wire) => return Ok(Some(wire)),
            OwnedReply::Nack(reason) => {
                tries.no_routes = if reason == NackReason::NoRoute { tries.no_routes + 1 } else { 0 };
                tries.nack = Some(reason);
                let tick = self.app.now() + TICK;
                self.wait(tick, None, meanwhile)?;
            }
            OwnedReply::Timeout => {
                tries.lifetime = (tries.lifetime * 2).min(LONGEST_TRY);
                (tries.no_routes, tries.nack) = (0, None);
            }
        }
        Ok(None)
    }

    /// Expresses an Interest once, and waits for the result.
    fn express(
        &mut self,
        interest: SingleInterest,
        meanwhile: &mut Meanwhile<'_>,
    ) -> Result<OwnedReply, GetError> {
        // No Interest times out by itself while there is no forwarder.
        let until = self.app.now() + interest.lifetime + TICK;
        let id = self.app.express(interest);
        while self.app.now() < until {
            let tick = self.app.now() + TICK;
            match self.wait(tick, Some(id), meanwhile) {
                Ok(None) => {}
                Ok(Some(answer)) => return Ok(answer),
                Err(error) => {
                    self.app.cancel(id);
                    return Err(error);
                }
            }
        }
        self.app.cancel(id);
        Ok(OwnedReply::Timeout)
    }

    /// Runs until `until`, or until the single Interest is answered.
    fn wait(
        &mut self,
        until: Time,
        expressed: Option<PendingId>,
        meanwhile: &mut Meanwhile<'_>,
    ) -> Result<Option<OwnedReply>, GetError> {
        let mut answer = None;
        self.app.run(until, &mut |now, event| match event {
            Event::Reply { id, reply } if Some(id) == expressed => {
                answer = Some(OwnedReply::from(reply));
                ControlFlow::Break(())
            }
            other => {
                meanwhile(now, other);
                ControlFlow::Continue(())
            }
        })?;
        told((self.each)(Progress::Searching))?;
        Ok(answer)
    }

    /// Expresses an Interest until a Data arrives.
    fn fetch(
        &mut self,
        interest: &SingleInterest,
        meanwhile: &mut Meanwhile<'_>,
    ) -> Result<Vec<u8>, GetError> {
        self.fetch_by_turns([interest, interest], meanwhile)
    }

    /// Expresses two Interests for the same Data alternately, until it arrives.
    fn fetch_by_turns(
        &mut self,
        [first, second]: [&SingleInterest; 2],
        meanwhile: &mut Meanwhile<'_>,
    ) -> Result<Vec<u8>, GetError> {
        let mut tries = self.tries(&first.name);
        loop {
            for interest in [first, second] {
                if let Some(wire) = self.again(&mut tries, interest, meanwhile)? {
                    return Ok(wire);
                }
            }
        }
    }

    /// Expresses an Interest until a Data arrives, and returns the verified Data.
    pub(super) fn fetch_verified(&mut self, interest: &SingleInterest) -> Result<Vec<u8>, GetError> {
        let wire = self.fetch(interest, &mut |_, _| {})?;
        self.verify(interest, wire)
    }

    /// Verifies the Data for an Interest, and fetches its certificates. A rejected Data is requested again.
    pub(super) fn verify(&mut self, interest: &SingleInterest, wire: Vec<u8>) -> Result<Vec<u8>, GetError> {
        let meanwhile: &mut Meanwhile<'_> = &mut |_, _| {};
        match self.check(&wire, meanwhile)? {
            None => Ok(wire),
            Some(reason) => {
                let refused = GetError::Invalid { object: interest.name.clone(), segment: None, reason };
                self.ask_again(interest, refused, meanwhile)
            }
        }
    }

    /// Returns why a Data is rejected, or `None` if it is valid. Fetches its certificates.
    fn check(&mut self, wire: &[u8], meanwhile: &mut Meanwhile<'_>) -> Result<Option<Reason>, GetError> {
        loop {
            match self.validator.check(wire, now()) {
                Step::Valid => return Ok(None),
                Step::Invalid(reason) => return Ok(Some(reason)),
                wanted => self.supply(&wanted, meanwhile)?,
            }
        }
    }

    /// Requests a rejected Data again. `refused` is the reason. A content store on the path may have stored the false
    /// Data of an attacker, and would return it forever. So the Interests bypass stores that know the signal. Every
    /// other one asks for fresh Data, so that the remaining stores do not return stale Data.
    ///
    /// # Errors
    /// Returns `refused` if no valid Data arrives.
    pub(super) fn ask_again(
        &mut self,
        interest: &SingleInterest,
        mut refused: GetError,
        meanwhile: &mut Meanwhile<'_>,
    ) -> Result<Vec<u8>, GetError> {
        let patience = self.patience;
        for attempt in 0..AGAIN {
            told((self.each)(Progress::Refused(&refused)))?;
            let must_be_fresh = interest.must_be_fresh || attempt % 2 == 0;
            let again = SingleInterest { past_stores: true, must_be_fresh, ..interest.clone() };
            self.patience = Some(patience.map_or(AGAIN_EACH, |patience| patience.min(AGAIN_EACH)));
            let answer = self.fetch(&again, meanwhile);
            self.patience = patience;
            let wire = match answer {
                Ok(wire) => wire,
                Err(error) if error.says_that_nobody_has_it() => continue,
                Err(error) => return Err(error),
            };
            match self.check(&wire, meanwhile)? {
                None => return Ok(wire),
                Some(reason) => refused = refused.because(reason),
            }
        }
        Err(refused)
    }

    /// Fetches a certificate that the validator needs or searches for.
    pub(super) fn supply(&mut self, wanted: &Step, meanwhile: &mut Meanwhile<'_>) -> Result<(), GetError> {
        match wanted {
            Step::Wants(name) => self.certificate(name, meanwhile).map_err(|error| match error {
                GetError::Nack(..) | GetError::Unanswered(_) => {
                    GetError::Certificate(name.clone(), Box::new(error))
                }
                other => other,
            }),
            Step::Seeks(name) => {
                let patience = self.patience;
                self.patience = Some(patience.map_or(SOUGHT, |patience| patience.min(SOUGHT)));
                let found = self.certificate(name, meanwhile);
                self.patience = patience;
                match found {
                    Err(GetError::Nack(..) | GetError::Unanswered(_) | GetError::NoCertificate(..)) => {
                        self.validator.do_without(name.view());
                        Ok(())
                    }
                    other => other,
                }
            }
            Step::Valid | Step::Invalid(_) => Ok(()),
        }
    }

    /// Fetches a certificate, and passes it to the validator. The issuer's network may have it, not the producer's, so
    /// every second try has no hint.
    fn certificate(&mut self, name: &Name, meanwhile: &mut Meanwhile<'_>) -> Result<(), GetError> {
        let interest =
            SingleInterest { can_be_prefix: true, must_be_fresh: true, ..self.interest(name.clone()) };
        let without_hint = SingleInterest { hint: Vec::new(), ..interest.clone() };
        let wire = self.fetch_by_turns([&interest, &without_hint], meanwhile)?;
        let Err(refused) = self.validator.supply(name.view(), &wire) else { return Ok(()) };
        let refused = GetError::NoCertificate(name.clone(), refused);
        told((self.each)(Progress::Refused(&refused)))?;
        let again = SingleInterest { past_stores: true, ..interest };
        let Some(wire) = self.again(&mut self.tries(name), &again, meanwhile)? else { return Err(refused) };
        let supplied = self.validator.supply(name.view(), &wire);
        supplied.map_err(|refused| GetError::NoCertificate(name.clone(), refused))
    }
}
