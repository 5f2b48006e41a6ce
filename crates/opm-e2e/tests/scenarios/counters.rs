//! Counters as Prometheus reads them: the text format, strictly, and what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use opm_e2e::RunningOpm;

/// Waits for a whole line that holds this.
pub(crate) async fn line_with(running: &RunningOpm, text: &str) -> String {
    opm_testkit::eventually("a line of the log", async || running.line_with(text)).await
}

/// Where a controller serves its counters, as its log says.
pub(crate) async fn address(running: &RunningOpm) -> String {
    let line = line_with(running, "serving /metrics").await;
    let address = line.split("http://").nth(1).unwrap();
    address.split('"').next().unwrap().to_owned()
}

/// The status, the head and the body of an answer.
pub(crate) fn get(address: &str, path: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}

/// The samples that a controller serves, by name and labels.
pub(crate) fn samples(address: &str) -> BTreeMap<String, f64> {
    let (status, head, body) = get(address, "/metrics");
    assert_eq!(status, 200);
    let kind = "content-type: text/plain; version=0.0.4; charset=utf-8";
    assert!(head.to_lowercase().contains(kind), "{head}");
    read(&body)
}

/// Reads the text format, and accepts nothing but it: every sample belongs to the family before it,
/// every family has its help and its type and comes once, and histograms add up.
fn read(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n'), "the last line ends, too");
    let (mut families, mut samples) = (BTreeSet::new(), BTreeMap::new());
    let (mut helped, mut family, mut kind) = (String::new(), String::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help text");
            assert!(is_name(name) && !help.is_empty(), "{line}");
            name.clone_into(&mut helped);
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, what) = rest.split_once(' ').expect("a type");
            assert_eq!(name, helped, "the help comes right before: {line}");
            assert!(["counter", "gauge", "histogram"].contains(&what), "{line}");
            assert_eq!(what == "counter", name.ends_with("_total"), "{line}");
            assert!(families.insert(name.to_owned()), "once: {line}");
            name.clone_into(&mut family);
            what.clone_into(&mut kind);
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a sample");
        let value: f64 = value.parse().expect("a number");
        assert!(value >= 0.0, "{line}");
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').expect("labels end")),
            None => (series, ""),
        };
        for label in labels.split(',').filter(|one| !one.is_empty()) {
            let (key, text) = label.split_once('=').expect("a label");
            let text = text
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'));
            let text = text.expect("a text in quotes");
            assert!(is_name(key) && !text.contains(['"', '\\']), "{line}");
        }
        let suffix = name.strip_prefix(&family).expect("of the family before");
        let suffixes: &[&str] = match kind.as_str() {
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        assert!(suffixes.contains(&suffix), "{line}");
        assert!(
            samples.insert(series.to_owned(), value).is_none(),
            "once: {line}"
        );
    }
    for (series, count) in &samples {
        let Some(name) = series.strip_suffix("_count") else {
            continue;
        };
        let bucket = |(series, count): (&String, &f64)| {
            let most = series.strip_prefix(&format!("{name}_bucket{{le=\""))?;
            let most = most.strip_suffix("\"}")?.replace("+Inf", "inf");
            Some((most.parse::<f64>().expect("a bound"), *count))
        };
        let mut buckets: Vec<(f64, f64)> = samples.iter().filter_map(bucket).collect();
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(buckets.is_sorted_by_key(|one| one.1), "{buckets:?}");
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)));
    }
    samples
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(plain) && !text.starts_with(|c: char| c.is_ascii_digit())
}
