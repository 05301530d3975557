//! `[[figure]]`: the figures of the paper.

use super::{Listed, Loader, Result};
use crate::model::PaperFigure;

impl Loader<'_> {
    /// The figures, in the order of the file.
    pub(super) fn figures(&self) -> Vec<PaperFigure> {
        self.all("figure")
            .iter()
            .map(|listed| self.faults.or(self.figure(listed), PaperFigure::default()))
            .collect()
    }

    fn figure(&self, listed: &Listed<'_>) -> Result<PaperFigure> {
        let item = self.item(listed);
        self.faults.keys(&item);
        let texts = |key| match item.given(key) {
            Some(_) => Ok(item.texts(key)?.into_iter().map(|(text, _)| text.to_string()).collect()),
            None => Ok(Vec::new()),
        };
        let text = |key| Ok(item.opt_text(key)?.unwrap_or_default());
        let ends = |from, to| Ok((item.opt_number(from)?, item.opt_number(to)?));
        Ok(PaperFigure {
            number: item.text("number")?,
            emulated_number: text("emulated_number")?,
            caption: item.text("caption")?,
            what: item.text("what")?,
            metrics: texts("metric")?,
            by: text("by")?,
            only: texts("only")?,
            window: text("window")?,
            axis: text("axis")?,
            x: ends("x_from", "x_to")?,
            y: ends("y_from", "y_to")?,
        })
    }
}
