//! Single Data, asked for and verified, with the certificates that this takes.

use core::ops::ControlFlow;

use weir_core::units::{Span, Time};
use weir_keychain::{Moment, Step, Validator};
use weir_net::clock::wall_ms;
use weir_packet::{Name, NameRef, ServiceClass};

use super::GetError;
use crate::{Answered, App, Event, Question};

/// How often the user is told how things are, and may stop.
pub(super) const TICK: Span = Span::from_millis(100);

/// Lifetimes of the tries for a single Data.
pub(super) const TRIES: [Span; 3] = [Span::from_secs(1), Span::from_secs(2), Span::from_secs(4)];

/// Is asked now and then whether to go on.
pub(super) type Watch<'a> = dyn FnMut(&App) -> ControlFlow<()> + 'a;
/// Is told what else happens meanwhile.
pub(super) type Meanwhile<'a> = dyn FnMut(Time, Event<'_>) + 'a;

/// The time of day, for certificates.
pub(super) fn now() -> Moment {
    Moment::from_unix_ms(wall_ms())
}

/// Who asks.
pub(super) struct Asker<'a, 'w> {
    pub(super) app: &'a mut App,
    pub(super) validator: &'a mut Validator,
    pub(super) class: ServiceClass,
    pub(super) watch: &'a mut Watch<'w>,
}

impl Asker<'_, '_> {
    /// Asks once, and waits for what becomes of it.
    pub(super) fn ask(
        &mut self,
        question: Question,
        meanwhile: &mut Meanwhile<'_>,
    ) -> Result<Answered, GetError> {
        let asked = self.app.ask(Question { class: self.class, ..question });
        let mut answer = None;
        while answer.is_none() {
            let tick = self.app.now() + TICK;
            self.app.run(tick, &mut |now, event| match event {
                Event::Reply { question, reply } if question == asked => {
                    answer = Some(Answered::from(reply));
                    ControlFlow::Break(())
                }
                other => {
                    meanwhile(now, other);
                    ControlFlow::Continue(())
                }
            })?;
            if (self.watch)(self.app).is_break() {
                self.app.withdraw(asked);
                return Err(GetError::Stopped);
            }
        }
        Ok(answer.unwrap_or(Answered::Timeout))
    }

    /// Asks a few times, each for longer; the Data, verified.
    pub(super) fn ask_verified(&mut self, question: &Question) -> Result<Vec<u8>, GetError> {
        let mut outcome = Err(GetError::Unanswered(question.name.clone()));
        for lifetime in TRIES {
            let question = Question { lifetime, tries: 1, ..question.clone() };
            match self.ask(question.clone(), &mut |_, _| {})? {
                Answered::Data(wire) => return self.verify(&question.name, wire),
                Answered::Nack(reason) => outcome = Err(GetError::Nack(question.name, reason)),
                Answered::Timeout => {}
            }
        }
        outcome
    }

    /// Verifies what came for a name; its certificates are fetched.
    pub(super) fn verify(&mut self, name: &Name, wire: Vec<u8>) -> Result<Vec<u8>, GetError> {
        loop {
            match self.validator.check(&wire, now()) {
                Step::Valid => return Ok(wire),
                Step::Invalid(reason) => {
                    return Err(GetError::Invalid { object: name.clone(), segment: None, reason });
                }
                Step::Wants(certificate) => self.supply(certificate.view(), &mut |_, _| {})?,
            }
        }
    }

    /// Fetches a certificate that the validator wants.
    pub(super) fn supply(
        &mut self,
        name: NameRef<'_>,
        meanwhile: &mut Meanwhile<'_>,
    ) -> Result<(), GetError> {
        let question =
            Question { can_be_prefix: true, must_be_fresh: true, tries: 4, ..Question::new(name.to_name()) };
        let failed = |error| Err(GetError::Certificate(name.to_name(), Box::new(error)));
        let wire = match self.ask(question, meanwhile) {
            Ok(Answered::Data(wire)) => wire,
            Ok(Answered::Nack(reason)) => return failed(GetError::Nack(name.to_name(), reason)),
            Ok(Answered::Timeout) => return failed(GetError::Unanswered(name.to_name())),
            Err(error) => return Err(error),
        };
        let supplied = self.validator.supply(name, &wire);
        supplied.map_err(|refused| GetError::NoCertificate(name.to_name(), refused))
    }
}
