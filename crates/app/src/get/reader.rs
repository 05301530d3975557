//! An object as a `std::io::Read`.

use core::ops::ControlFlow;
use std::io::{self, Read};

use super::transfer::Transfer;
use super::{Fetcher, GetError, Object, Progress, Report};

/// A reader of an object's content: [`Fetcher::into_reader`].
///
/// It fetches during reads, and is ahead of them only by the pending Interests. An error is a [`GetError`] inside an
/// [`io::Error`]. It comes after the content before it, and each later read fails too.
pub struct Reader<'a> {
    fetcher: Fetcher<'a>,
    object: Object,
    transfer: Option<Transfer>,
    /// The error that ended the content, until it is reported.
    failure: Option<GetError>,
    /// The reported error.
    told: Option<String>,
    /// Content that has arrived, read up to this position.
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
        let (failure, told) = (None, None);
        Ok(Reader { fetcher, object, transfer, failure, told, content: content.unwrap_or_default(), at: 0 })
    }

    /// The object that is read.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Waits for more content. Does nothing after the end or after an error.
    fn fill(&mut self) {
        self.content.clear();
        self.at = 0;
        while self.content.is_empty()
            && let Some(transfer) = &mut self.transfer
        {
            match more(&mut self.fetcher, transfer, &mut self.content) {
                Ok(false) => {}
                Ok(true) => drop(self.end()),
                Err(error) => {
                    self.failure = Some(error);
                    drop(self.end());
                }
            }
        }
    }

    /// Returns the error that ended the content.
    fn why(&mut self) -> io::Result<()> {
        if let Some(failure) = self.failure.take() {
            self.told = Some(failure.to_string());
            return Err(io::Error::other(failure));
        }
        self.told.clone().map_or(Ok(()), |told| Err(io::Error::other(told)))
    }

    fn end(&mut self) -> Option<Report> {
        let transfer = self.transfer.take()?;
        let flow = transfer.flow;
        let report = transfer.report(self.fetcher.app);
        self.fetcher.app.forget(flow);
        Some(report)
    }
}

/// Appends the next content in order, if some arrives. Returns whether everything has arrived.
fn more(fetcher: &mut Fetcher<'_>, transfer: &mut Transfer, content: &mut Vec<u8>) -> Result<bool, GetError> {
    let mut deliver = |progress: Progress<'_>| {
        if let Progress::Content { content: bytes, .. } = progress {
            content.extend_from_slice(bytes);
        }
        ControlFlow::Continue(())
    };
    let validator = &mut fetcher.validator;
    let mut is_done = transfer.turn(fetcher.app, validator, true, &mut deliver)?;
    while transfer.wants_more() {
        transfer.fetch_wanted(fetcher.app, validator, &mut |_| ControlFlow::Continue(()))?;
        is_done = transfer.verify_waiting(fetcher.app, validator, &mut deliver)?;
    }
    Ok(is_done)
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.content.len() {
            self.fill();
        }
        if self.content.is_empty() {
            self.why()?;
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
