//! What HTTP itself allows, and what it does not.

use std::io::Write as _;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Behaviour;
use super::script::{Step, answer, everything, objects};

/// A gigabyte of spaces, and little else.
fn bomb() -> Vec<u8> {
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    let make = || {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let spaces = vec![b' '; 1 << 20];
        for _ in 0..1024 {
            packed.write_all(&spaces).expect("memory");
        }
        packed.finish().expect("memory")
    };
    BOMB.get_or_init(make).clone()
}

fn raw(text: &str) -> Vec<Step> {
    vec![Step::Send(text.as_bytes().to_vec()), Step::Close]
}

pub(super) const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "a-redirect-to-itself",
        strikes: everything,
        act: |struck, _| answer(302, &format!("Location: {}\r\n", struck.path), ""),
    },
    Behaviour {
        name: "a-redirect-elsewhere",
        strikes: objects,
        act: |_, said| answer(307, "Location: http://127.0.0.1:1/\r\n", said.body),
    },
    Behaviour {
        name: "a-compression-bomb",
        strikes: everything,
        act: |_, _| answer(200, "Content-Encoding: gzip\r\n", bomb()),
    },
    Behaviour {
        name: "an-error-that-is-a-compression-bomb",
        strikes: everything,
        act: |_, _| answer(403, "Content-Encoding: gzip\r\n", bomb()),
    },
    Behaviour {
        name: "compressed-noise",
        strikes: objects,
        act: |_, said| answer(200, "Content-Encoding: gzip\r\n", said.body),
    },
    Behaviour {
        name: "an-unknown-encoding",
        strikes: objects,
        act: |_, _| {
            answer(
                200,
                "Content-Encoding: br\r\n",
                b"\x8b\x02\x80{}\x03".to_vec(),
            )
        },
    },
    Behaviour {
        name: "a-chunk-of-sixteen-exabytes",
        strikes: objects,
        act: |_, _| {
            raw("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n{}")
        },
    },
    Behaviour {
        name: "half-a-chunk",
        strikes: objects,
        act: |_, _| raw("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"kind\""),
    },
    Behaviour {
        name: "a-length-of-sixteen-exabytes",
        strikes: objects,
        act: |_, _| raw("HTTP/1.1 200 X\r\nContent-Length: 18446744073709551615\r\n\r\n{}"),
    },
    Behaviour {
        name: "two-lengths",
        strikes: objects,
        act: |_, _| raw("HTTP/1.1 200 X\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{}"),
    },
    Behaviour {
        name: "a-negative-length",
        strikes: objects,
        act: |_, _| raw("HTTP/1.1 200 X\r\nContent-Length: -1\r\n\r\n{}"),
    },
    Behaviour {
        name: "another-protocol",
        strikes: everything,
        act: |_, _| raw("220 mail.example.com ESMTP\r\n"),
    },
    Behaviour {
        name: "a-status-of-no-kind",
        strikes: everything,
        act: |_, _| raw("HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n"),
    },
    Behaviour {
        name: "switching-protocols",
        strikes: objects,
        act: |_, _| raw("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
    },
    Behaviour {
        name: "continue-for-ever",
        strikes: everything,
        act: |_, _| vec![Step::Endless(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec())],
    },
];
