//! Tables over many runs, defined once for both outputs: text for a terminal, and a page for a browser.

use crate::page::{self, Bundle, escaped};
use crate::table;
use std::borrow::Cow;
use std::fmt::Write;

/// A page of tables.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    /// What kind of page it is.
    pub(crate) kind: &'static str,
    pub(crate) title: String,
    pub(crate) set: Vec<String>,
    /// Names and values in its head.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// What it shows, a sentence each.
    pub(crate) answer: Vec<String>,
    /// What a page has before its sections, as HTML.
    pub(crate) lead: String,
    /// The path and the name of the page that leads here.
    pub(crate) back: Option<(String, String)>,
    pub(crate) sections: Vec<Section>,
    /// About all of its tables.
    pub(crate) notes: Vec<String>,
    pub(crate) plots: Option<Plots>,
}

/// What draws the plots of a page, and from what.
#[derive(Debug)]
pub(crate) struct Plots {
    pub(crate) bundle: &'static Bundle,
    /// JSON without `<`.
    pub(crate) data: String,
    /// Whether they stand behind the sections.
    pub(crate) is_last: bool,
}

/// Tables that belong together.
#[derive(Debug, Default)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) source: String,
    /// A verdict over its rows, and whether it is a good one.
    pub(crate) verdict: Option<(String, bool)>,
    pub(crate) grids: Vec<Grid>,
    pub(crate) notes: Vec<String>,
    /// Names and paths of reports, from the folder of the page.
    pub(crate) reports: Vec<(String, String)>,
    /// Names and paths of further pages, likewise.
    pub(crate) pages: Vec<(String, String)>,
    /// What links of the page name it by; empty for nothing.
    pub(crate) id: String,
    /// Whether a page shows only its heading until it is opened.
    pub(crate) is_folded: bool,
    /// What a page has behind its tables, as HTML.
    pub(crate) figures: String,
}

/// How a table is laid out where it does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// A row is read by itself.
    #[default]
    Statements,
    /// Rows are read beside each other.
    Figures,
}

/// A table. Its first column says what a row is about.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    pub(crate) title: String,
    pub(crate) form: Form,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// What a terminal shows, if not all: so many rows, and what the title says of them.
    pub(crate) in_text: Option<(usize, String)>,
    /// Where a page leads from it: the path, and the words of the link.
    pub(crate) page: Option<(String, String)>,
    /// Whether a page shows only its title until it is opened.
    pub(crate) is_folded: bool,
}

/// A column: its heading, and whether numbers stand in it.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) title: Cow<'static, str>,
    pub(crate) is_number: bool,
}

/// What stands in a row and column.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Small print of the page.
    pub(crate) note: String,
    /// Whether what the row states holds, in the cell that says so.
    pub(crate) holds: Option<bool>,
    /// The path of a page about it.
    pub(crate) page: Option<String>,
}

/// A column of words.
pub(crate) fn words(title: impl Into<Cow<'static, str>>) -> Column {
    Column { title: title.into(), is_number: false }
}

/// A column of numbers.
pub(crate) fn numbers(title: impl Into<Cow<'static, str>>) -> Column {
    Column { title: title.into(), is_number: true }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, ..Cell::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        text.to_owned().into()
    }
}

// ---- As text

impl Sheet {
    /// For a terminal of so many columns, if that is given.
    pub(crate) fn text(&self, width: Option<u16>) -> String {
        let facts: Vec<String> = self.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let mut text = format!("{}\n{}\n", self.title, facts.join("  "));
        if !self.set.is_empty() {
            text += &format!("with --set {}\n", self.set.join(" --set "));
        }
        for sentence in &self.answer {
            text += &format!("\n{}\n", table::wrapped(sentence, width));
        }
        for section in &self.sections {
            text += &section.text(width);
        }
        for note in &self.notes {
            text += &format!("\n{}\n", table::wrapped(note, width));
        }
        text
    }
}

impl Section {
    /// For a terminal, as [`Sheet::text`].
    pub(crate) fn text(&self, width: Option<u16>) -> String {
        let mut text = format!("\n{}\n", self.title);
        if !self.source.is_empty() {
            text += &format!("{}\n", self.source);
        }
        if let Some((verdict, _)) = &self.verdict {
            text += &format!("{verdict}\n");
        }
        for grid in &self.grids {
            text += &format!("\n{}\n", grid.text(width));
        }
        for note in &self.notes {
            text += &format!("\n{note}\n");
        }
        text
    }
}

impl Grid {
    fn text(&self, width: Option<u16>) -> String {
        let header: Vec<&str> = self.columns.iter().map(|column| &*column.title).collect();
        let is_number = |column: &usize| self.columns[*column].is_number;
        let mut table = table::table(&header, (0..header.len()).filter(is_number), width);
        let (shown, which) = self.in_text.as_ref().map_or((self.rows.len(), ""), |(n, which)| (*n, which));
        for row in self.rows.iter().take(shown) {
            table.add_row(row.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>());
        }
        format!("{}{which}\n{}", self.title, table.trim_fmt())
    }
}

// ---- As Markdown

impl Sheet {
    /// For a document: the tables as GitHub's dialect of Markdown has them.
    pub(crate) fn markdown(&self) -> String {
        self.sections.iter().map(Section::markdown).collect::<Vec<_>>().join("\n")
    }
}

impl Section {
    fn markdown(&self) -> String {
        let mut text = format!("### {}\n", self.title);
        if !self.source.is_empty() {
            text += &format!("\n{}\n", self.source);
        }
        for grid in &self.grids {
            text += &format!("\n{}\n", grid.markdown());
        }
        for note in &self.notes {
            text += &format!("\n{note}\n");
        }
        text
    }
}

impl Grid {
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<&str> =
            self.columns.iter().map(|column| if column.is_number { "--:" } else { "---" }).collect();
        let mut text = format!("{}:\n\n", self.title);
        text += &line(&mut self.columns.iter().map(|column| &*column.title));
        text += &format!("|{}|\n", rule.join("|"));
        for row in &self.rows {
            text += &line(&mut row.iter().map(|cell| cell.text.as_str()));
        }
        text.trim_end().to_owned()
    }
}

// ---- As a page

impl Sheet {
    /// A page in one file.
    pub(crate) fn html(&self) -> String {
        let mut body = format!(
            "<main>\n<header><div class=\"top\"><span class=\"brand\">{}</span></div>\n<h1>{}</h1>\n",
            escaped(self.kind),
            escaped(&self.title)
        );
        if !self.set.is_empty() {
            let set = self.set.iter().map(|set| format!("<code>--set {}</code>", escaped(set)));
            body += &format!("<p class=\"set\">with {}</p>\n", set.collect::<Vec<_>>().join(" "));
        }
        body += "<dl class=\"facts\">";
        for (name, value) in &self.facts {
            body += &format!("<div><dt>{name}</dt><dd>{}</dd></div>", escaped(value));
        }
        body += "</dl></header>\n";
        if let Some((path, name)) = &self.back {
            body += &format!(
                "<p class=\"runs\">{}</p>\n",
                links_html(&[(format!("Back to {name}"), path.clone())])
            );
        }
        if !self.answer.is_empty() {
            let items = self.answer.iter().map(|one| format!("<li>{}</li>", escaped(one)));
            body += &format!("<section><ul class=\"answer\">{}</ul></section>\n", items.collect::<String>());
        }
        body += &self.lead;
        for note in &self.notes {
            body += &format!("<p class=\"said\">{}</p>\n", escaped(note));
        }
        const PLOTS: &str = "<div id=\"plots\"><noscript>Plots are drawn by a script in this file, which your browser does not \
                             run.</noscript></div>\n";
        let is_last = self.plots.as_ref().map(|plots| plots.is_last);
        if is_last == Some(false) {
            body += PLOTS;
        }
        for section in &self.sections {
            section.html(&mut body);
        }
        if is_last == Some(true) {
            body += PLOTS;
        }
        body += &format!("<footer>weir {}</footer>\n</main>", env!("CARGO_PKG_VERSION"));
        let title = format!("{}: {}", self.kind, self.title);
        let Some(Plots { bundle, data, .. }) = &self.plots else {
            return page::html(&title, &page::SUMMARY, &body);
        };
        body += &format!("\n<script type=\"application/json\" id=\"data\">{data}</script>");
        page::html(&title, bundle, &body)
    }
}

impl Section {
    fn html(&self, body: &mut String) {
        let id = if self.id.is_empty() { String::new() } else { format!(" id=\"{}\"", escaped(&self.id)) };
        let verdict = self.verdict.as_ref().map_or_else(String::new, |(verdict, holds)| {
            format!("<span class=\"verdict {}\">{}</span>", word(*holds), escaped(verdict))
        });
        let heading = format!("<h2>{}</h2>{verdict}", escaped(&self.title));
        *body += &match self.is_folded {
            true => format!(
                "<section{id}>\n<details class=\"fold\"><summary class=\"heading\">{heading}</summary>\n"
            ),
            false => format!("<section{id}>\n<div class=\"heading\">{heading}</div>\n"),
        };
        if !self.source.is_empty() {
            *body += &format!("<p class=\"source\">{}</p>\n", escaped(&self.source));
        }
        for grid in &self.grids {
            grid.html(body);
        }
        *body += &self.figures;
        for note in &self.notes {
            *body += &format!("<p class=\"said\">{}</p>\n", escaped(note));
        }
        for (what, links) in
            [("With plots and reports", &self.pages), ("Reports of the first seed", &self.reports)]
        {
            if !links.is_empty() {
                *body += &format!("<p class=\"runs\">{what}: {}</p>\n", links_html(links));
            }
        }
        *body += if self.is_folded { "</details></section>\n" } else { "</section>\n" };
    }
}

impl Grid {
    fn html(&self, body: &mut String) {
        let title = escaped(&self.title);
        *body += &match self.is_folded {
            true => format!("<details><summary class=\"kind\">{title}</summary>\n"),
            false => format!("<h3 class=\"kind\">{title}</h3>\n"),
        };
        let is_wide = self.form == Form::Figures;
        if is_wide {
            let region = "<div class=\"scroll\" tabindex=\"0\" role=\"region\"";
            *body += &format!("{region} aria-label=\"{title}\">");
        }
        let class = if is_wide { "figures" } else { "statements" };
        *body += &format!("<table class=\"{class}\" aria-label=\"{title}\">\n<thead><tr>");
        for column in &self.columns {
            *body += &format!("<th scope=\"col\"{}>{}</th>", number(column), escaped(&column.title));
        }
        *body += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            self.row_html(row, body);
        }
        *body += "</tbody></table>";
        *body += if is_wide { "</div>\n" } else { "\n" };
        if let Some((path, name)) = &self.page {
            *body += &format!("<p class=\"runs\"><a href=\"{}\">{}</a></p>\n", escaped(path), escaped(name));
        }
        if self.is_folded {
            *body += "</details>\n";
        }
    }

    fn row_html(&self, row: &[Cell], body: &mut String) {
        // A row whose first cell is empty goes on with what the one above is about.
        let first = row.first().filter(|cell| !cell.text.is_empty()).map(|_| "first");
        let verdict = row.iter().find_map(|cell| cell.holds).map(word);
        let classes: Vec<&str> = first.into_iter().chain(verdict).collect();
        *body += &format!("<tr class=\"{}\">", classes.join(" "));
        for (at, (cell, column)) in row.iter().zip(&self.columns).enumerate() {
            let text = match &cell.page {
                Some(page) => links_html(&[(cell.text.clone(), page.clone())]),
                None => escaped(&cell.text),
            };
            let note = if cell.note.is_empty() {
                String::new()
            } else {
                format!(" <small>{}</small>", escaped(&cell.note))
            };
            let label = format!("data-label=\"{}\"", escaped(&column.title));
            // Writing to a text does not fail.
            let _ = match (at, cell.holds) {
                (0, _) => write!(body, "<th scope=\"row\">{text}{note}</th>"),
                (_, Some(_)) => write!(body, "<td class=\"mark\" {label}>{text}{note}</td>"),
                _ => write!(body, "<td{} {label}>{text}{note}</td>", number(column)),
            };
        }
        *body += "</tr>\n";
    }
}

fn links_html(links: &[(String, String)]) -> String {
    let link = |(name, path): &(String, String)| {
        format!("<a href=\"{}\">{}</a>", escaped(&percent_encoded(path)), escaped(name))
    };
    links.iter().map(link).collect::<Vec<_>>().join(", ")
}

fn number(column: &Column) -> &'static str {
    if column.is_number { " class=\"number\"" } else { "" }
}

const fn word(holds: bool) -> &'static str {
    if holds { "holds" } else { "fails" }
}

/// A path as a reference in a page: any byte that means something else there is encoded.
pub(crate) fn percent_encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(byte));
            }
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(text: &str) -> Sheet {
        let row = |first: &str, holds| {
            let verdict = Cell { holds: Some(holds), ..text.into() };
            vec![Cell { note: text.to_owned(), ..first.into() }, text.into(), verdict]
        };
        let grid = Grid {
            title: text.to_owned(),
            form: Form::Figures,
            columns: vec![words("what"), numbers("measured"), words("holds")],
            rows: vec![row(text, true), row("", false)],
            in_text: None,
            page: Some((text.to_owned(), text.to_owned())),
            is_folded: true,
        };
        let section = Section {
            title: text.to_owned(),
            source: text.to_owned(),
            verdict: Some((text.to_owned(), true)),
            grids: vec![grid],
            notes: vec![text.to_owned()],
            reports: vec![(text.to_owned(), format!("{text}/report.html"))],
            pages: vec![(text.to_owned(), format!("{text}/compare.html"))],
            id: text.to_owned(),
            is_folded: true,
            figures: String::new(),
        };
        let facts = vec![("seeds", text.to_owned())];
        Sheet {
            kind: "Test",
            title: text.to_owned(),
            set: vec![text.to_owned()],
            facts,
            answer: vec![text.to_owned()],
            lead: String::new(),
            back: Some((text.to_owned(), text.to_owned())),
            sections: vec![section],
            notes: vec![text.to_owned()],
            plots: None,
        }
    }

    #[test]
    fn hostile_texts_stay_texts() {
        let hostile =
            sheet("\"'></h1></script><script>alert(1)</script><a href=javascript:alert(2)>&").html();
        let plain = sheet("plain").html();
        for tag in ["<script", "</script", "<a ", "<h1", "</h1", "=\"", "'>"] {
            assert_eq!(hostile.matches(tag).count(), plain.matches(tag).count(), "{tag}");
        }
        assert!(hostile.contains("href=\"%22%27%3E%3C/h1"), "a path stays a path");
    }

    #[test]
    fn text_and_page_have_every_cell() {
        let sheet = sheet("plain words");
        let (text, page) = (sheet.text(None), sheet.html());
        // Title, fact, set, answer, section, source, grid, five cells, verdict, two notes.
        assert_eq!(text.matches("plain words").count(), 15, "{text}");
        assert!(page.contains("<tr class=\"first holds\">") && page.contains("<tr class=\"fails\">"));
        assert!(page.contains("href=\"plain%20words/report.html\""));
        assert!(page.contains("href=\"plain%20words/compare.html\""));
    }

    #[test]
    fn markdown_has_every_cell_and_a_bar_ends_none() {
        let text = sheet("a|b").markdown();
        assert_eq!(
            text,
            "### a|b\n\na|b\n\na|b:\n\n| what | measured | holds |\n|---|--:|---|\n| a\\|b | a\\|b | a\\|b |\n\
             |  | a\\|b | a\\|b |\n\na|b\n"
        );
    }
}
