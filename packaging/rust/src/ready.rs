//! Reads the line of JSON that a server prints when it is ready: an object of texts and a number.

use std::str::Chars;

/// Returns a text of the line, or `None` if there is none of that name.
pub(crate) fn text(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
    let mut chars = rest.chars();
    let mut value = String::new();
    loop {
        match chars.next()? {
            '"' => return Some(value),
            '\\' => value.push(escaped(&mut chars)?),
            c => value.push(c),
        }
    }
}

/// Returns the character that an escape stands for. Go escapes no pairs of surrogates.
fn escaped(chars: &mut Chars) -> Option<char> {
    Some(match chars.next()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let digits: String = chars.take(4).collect();
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
        }
        c => c,
    })
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn reads_texts() {
        let line = r#"{"url":"https://127.0.0.1:1","ca":"a\nb\u0026\"\\","pid":7}"#;
        assert_eq!(text(line, "url").as_deref(), Some("https://127.0.0.1:1"));
        assert_eq!(text(line, "ca").as_deref(), Some("a\nb&\"\\"));
        for missing in ["labPage", "pid"] {
            assert_eq!(text(line, missing), None);
        }
        for broken in [r#"{"url":"https"#, r#"{"url":"\u00"#, r#"{"url":"\"#] {
            assert_eq!(text(broken, "url"), None);
        }
    }
}
