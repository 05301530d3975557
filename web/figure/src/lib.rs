//! Draws figures in a page. A page writes the JSON of a figure where [`room`] says, calls [`draw`], and reads the file from
//! [`drawn`]. `web/src/save.ts` is the other side.

use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_figure::{Figure, Width};

struct Texts {
    json: Vec<u8>,
    file: Vec<u8>,
}

static TEXTS: Mutex<Texts> = Mutex::new(Texts { json: Vec::new(), file: Vec::new() });

fn texts() -> MutexGuard<'static, Texts> {
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for the JSON of a figure, so many bytes, and says where.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *const u8 {
    let mut texts = texts();
    texts.json = vec![0; length];
    texts.json.as_ptr()
}

/// Draws the figure: format 0 is SVG, 1 PDF, 2 CSV; one or two columns wide. Returns 0 if the JSON is no figure.
#[unsafe(no_mangle)]
pub extern "C" fn draw(format: u32, columns: u32) -> u32 {
    let mut texts = texts();
    let Ok(figure) = serde_json::from_slice::<Figure>(&texts.json) else { return 0 };
    let width = if columns == 1 { Width::OneColumn } else { Width::TwoColumns };
    texts.file = match format {
        0 => weir_figure::draw(&figure, width).svg().into_bytes(),
        1 => weir_figure::draw(&figure, width).pdf(),
        _ => figure.csv().into_bytes(),
    };
    1
}

/// Where the drawn file is.
#[unsafe(no_mangle)]
pub extern "C" fn drawn() -> *const u8 {
    texts().file.as_ptr()
}

/// The length of the drawn file, bytes.
#[unsafe(no_mangle)]
pub extern "C" fn drawn_length() -> usize {
    texts().file.len()
}
