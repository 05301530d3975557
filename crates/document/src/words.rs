//! Lists of words in messages.

/// Returns a list of names for messages, cut to a readable length.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut shown = 0;
    let mut more = 0;
    for name in names {
        if shown == 40 {
            more += 1;
            continue;
        }
        if shown > 0 {
            text.push_str(", ");
        }
        text.push_str(name);
        shown += 1;
    }
    if more > 0 {
        text.push_str(&format!(", … ({more} more)"));
    }
    if shown == 0 { "none".to_owned() } else { text }
}
