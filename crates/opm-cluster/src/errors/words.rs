//! Messages of servers and libraries, in words that people read: no Go syntax, no line breaks in
//! the middle of a sentence, no seconds since 1970.

use opm_core::time::Timestamp;

/// How Go prints a value inside a type error.
const GO_VALUE: &str = "&value.valueUnstructured{Value:";

/// A type error of server-side apply without Go's syntax, in one line; other messages as they are.
pub(crate) fn plain(message: &str) -> String {
    if !message.contains("typed patch object") {
        return message.to_owned();
    }
    let lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let joined = lines
        .collect::<Vec<_>>()
        .join("; ")
        .replace("errors:; ", "");
    let mut parts = joined.split(GO_VALUE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some((value, rest)) => text.extend([value, rest]),
            None => text.push_str(part),
        }
    }
    text
}

/// A certificate that is not valid now, with dates instead of seconds since 1970.
pub(crate) fn dated(message: &str) -> String {
    if !message.contains("(UNIX)") {
        return message.to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    let mut skipping = false;
    for word in message.split(' ') {
        let digits = word.trim_end_matches([',', ')']);
        match digits.parse::<u64>() {
            // In brackets: how many seconds that is from now.
            _ if skipping || word.starts_with('(') && word != "(UNIX)," && word != "(UNIX)" => {
                let seconds = word.trim_start_matches('(');
                let counts = skipping || seconds.chars().all(|c| c.is_ascii_digit());
                skipping = counts && !word.ends_with(')');
                if !counts {
                    words.push(word.to_owned());
                }
            }
            _ if word == "(UNIX)" => {}
            _ if word == "(UNIX)," => {
                if let Some(last) = words.last_mut() {
                    last.push(',');
                }
            }
            Ok(seconds) if digits.len() >= 9 => {
                let rest = &word[digits.len()..];
                words.push(format!("{}{rest}", Timestamp::from_secs(seconds)));
            }
            _ => words.push(word.to_owned()),
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_errors_are_said_in_one_plain_line() {
        let several = "failed to create typed patch object (games/a; /v1, Kind=ConfigMap): errors:\n  \
            .data.port: expected string, got &value.valueUnstructured{Value:80}\n  .data.on: expected \
            string, got &value.valueUnstructured{Value:true}\n";
        let expected = "failed to create typed patch object (games/a; /v1, Kind=ConfigMap): \
            .data.port: expected string, got 80; .data.on: expected string, got true";
        assert_eq!(plain(several), expected);
        let other = "Apply failed with 1 conflict: conflicts with \"a\":\n- .data.x";
        assert_eq!(plain(other), other);
    }

    #[test]
    fn an_expired_certificate_has_a_date() {
        let message = "invalid peer certificate: certificate expired: verification time 1763252000 \
            (UNIX), but certificate is not valid after 1700000000 (63252000 seconds ago)";
        let expected = "invalid peer certificate: certificate expired: verification time \
            2025-11-16T00:13:20Z, but certificate is not valid after 2023-11-14T22:13:20Z";
        assert_eq!(dated(message), expected);
        assert_eq!(dated("no certificate"), "no certificate");
    }
}
