//! The canonical CUE text of values.

use super::Value;

/// Words that CUE's grammar claims, or once claimed; as labels they are quoted.
const KEYWORDS: [&str; 14] = [
    "else",
    "fallback",
    "false",
    "for",
    "func",
    "if",
    "import",
    "in",
    "let",
    "null",
    "otherwise",
    "package",
    "true",
    "try",
];

pub(super) fn print(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, 0);
    out
}

fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_string(out, text),
        Value::List(items) if items.is_empty() => out.push_str("[]"),
        Value::List(items) => {
            out.push('[');
            for item in items {
                new_line(out, depth + 1);
                write_value(out, item, depth + 1);
                out.push(',');
            }
            new_line(out, depth);
            out.push(']');
        }
        Value::Struct(fields) if fields.is_empty() => out.push_str("{}"),
        Value::Struct(fields) => {
            out.push('{');
            for (label, field) in fields {
                new_line(out, depth + 1);
                write_label(out, label);
                out.push_str(": ");
                write_value(out, field, depth + 1);
            }
            new_line(out, depth);
            out.push('}');
        }
    }
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n('\t', depth));
}

fn write_label(out: &mut String, label: &str) {
    let bare = label.starts_with(|first: char| first.is_ascii_alphabetic())
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !KEYWORDS.contains(&label);
    match bare {
        true => out.push_str(label),
        false => write_string(out, label),
    }
}

/// Escapes what would end the string, what a CUE source cannot contain, and invisible
/// characters; everything else is written as it is.
fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{feff}' => out.push_str("\\ufeff"),
            control if control.is_control() => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
