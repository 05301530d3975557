//! An object as something to read from.

use core::ops::ControlFlow;
use std::io::{self, Read};

use super::transfer::Transfer;
use super::{Fetcher, GetError, Object, Progress, Report};
use crate::App;

/// The content of an object, to be read in order: [`Fetcher::into_reader`].
///
/// It fetches while it is read, and ahead of that no more than what is pending. An error is the [`GetError`],
/// inside an [`io::Error`].
pub struct Reader<'a> {
    fetcher: Fetcher<'a>,
    object: Object,
    transfer: Option<Transfer>,
    /// What came and was not read, from this place on.
    content: Vec<u8>,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(mut fetcher: Fetcher<'a>) -> Result<Reader<'a>, GetError> {
        let mut object = fetcher.find(&mut |_| ControlFlow::Continue(()))?;
        let content = object.whole.take().map(|(content, _)| content);
        let transfer = match &content {
            Some(_) => None,
            None => Some(Transfer::start(fetcher.app, &fetcher.get, fetcher.scheme, &object, 0)?),
        };
        Ok(Reader { fetcher, object, transfer, content: content.unwrap_or_default(), at: 0 })
    }

    /// What is read.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Has more content come; nothing more if everything was read.
    fn fill(&mut self) -> Result<(), GetError> {
        self.content.clear();
        self.at = 0;
        while self.content.is_empty() {
            let Some(transfer) = &mut self.transfer else { return Ok(()) };
            let (content, fetcher) = (&mut self.content, &mut self.fetcher);
            let mut deliver = |progress: Progress<'_>| {
                if let Progress::Content { content: bytes, .. } = progress {
                    content.extend_from_slice(bytes);
                }
                ControlFlow::Continue(())
            };
            let validator = &mut fetcher.validator;
            let mut fetched = transfer.turn(fetcher.app, validator, true, &mut deliver);
            if fetched.is_ok() && transfer.wants_certificate() {
                let mut watch = |_: &App| ControlFlow::Continue(());
                fetched = transfer
                    .fetch_certificate(fetcher.app, validator, &mut watch)
                    .and_then(|()| transfer.verify_waiting(validator, &mut deliver));
            }
            if !matches!(fetched, Ok(false)) {
                self.end();
            }
            fetched?;
        }
        Ok(())
    }

    fn end(&mut self) -> Option<Report> {
        let transfer = self.transfer.take()?;
        let flow = transfer.flow;
        let report = transfer.report(self.fetcher.app);
        self.fetcher.app.forget(flow);
        Some(report)
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.content.len() {
            self.fill().map_err(io::Error::other)?;
        }
        let mut rest = self.content.get(self.at..).unwrap_or_default();
        let read = rest.read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl core::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reader").field("object", &self.object).finish_non_exhaustive()
    }
}
