//! HTTP/1.1 by hand: requests are read and asked of the honest server, answers are played.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::Behaviour;
use super::script::{HonestAnswer, Script, Step, Struck, answer, head};

pub(super) async fn serve(
    listener: TcpListener,
    honest: kube::Client,
    (behaviour, after): (Behaviour, usize),
    seen: Arc<AtomicUsize>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (honest, seen) = (honest.clone(), Arc::clone(&seen));
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            while let Ok(Some(asked)) = read(&mut stream, &seen).await {
                let strikes = asked.struck.number >= after && (behaviour.strikes)(&asked.struck);
                let going_on = match strikes {
                    true => strike(&honest, behaviour, asked, &mut stream).await,
                    false => pass_on(&honest, asked, &mut stream).await,
                };
                // Who goes away is none of our concern.
                if !going_on.unwrap_or(false) {
                    return;
                }
            }
        });
    }
}

struct Asked {
    struck: Struck,
    request: Request<Body>,
}

async fn read(stream: &mut BufReader<TcpStream>, seen: &AtomicUsize) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or("GET"), words.next().unwrap_or("/"));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let struck = Struck {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        number: seen.fetch_add(1, Ordering::Relaxed),
    };
    let mut request = Request::builder().method(method).uri(target);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "accept" | "content-type" => request = request.header(name, value.trim()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let request = request.body(Body::from(body)).map_err(io::Error::other)?;
    Ok(Some(Asked { struck, request }))
}

async fn strike(
    honest: &kube::Client,
    behaviour: Behaviour,
    asked: Asked,
    stream: &mut BufReader<TcpStream>,
) -> io::Result<bool> {
    let said = match asked.struck.is_watch() {
        true => HonestAnswer {
            status: 200,
            body: Vec::new(),
        },
        false => ask(honest, asked.request).await?,
    };
    play((behaviour.act)(&asked.struck, said), stream).await
}

async fn ask(honest: &kube::Client, request: Request<Body>) -> io::Result<HonestAnswer> {
    let response = honest.send(request).await.map_err(io::Error::other)?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await;
    let body = body.map_err(io::Error::other)?.to_bytes().to_vec();
    Ok(HonestAnswer { status, body })
}

async fn pass_on(
    honest: &kube::Client,
    asked: Asked,
    stream: &mut BufReader<TcpStream>,
) -> io::Result<bool> {
    if !asked.struck.is_watch() {
        let HonestAnswer { status, body } = ask(honest, asked.request).await?;
        return play(answer(status, "", body), stream).await;
    }
    let response = honest.send(asked.request).await.map_err(io::Error::other)?;
    play(vec![head(response.status().as_u16(), "")], stream).await?;
    let mut body = response.into_body();
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data() {
            stream.write_all(&data).await?;
        }
    }
    Ok(false)
}

/// Whether the connection goes on afterwards.
async fn play(script: Script, stream: &mut BufReader<TcpStream>) -> io::Result<bool> {
    for step in script {
        match step {
            Step::Send(bytes) => stream.write_all(&bytes).await?,
            Step::Endless(bytes) => loop {
                stream.write_all(&bytes).await?;
            },
            Step::Slowly(bytes, pause) => {
                for byte in bytes {
                    tokio::time::sleep(pause).await;
                    stream.write_all(&[byte]).await?;
                }
            }
            Step::Hold => std::future::pending().await,
            Step::Close => return Ok(false),
        }
    }
    Ok(true)
}
