//! One of the two servers, with a namespace and saved values of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use opm_sandbox::Sandbox;
use opm_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::normal::{self, Names};
use crate::request::Step;

pub(crate) struct Side {
    client: Client,
    pub(crate) values: BTreeMap<String, String>,
}

pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

impl Side {
    pub(crate) async fn real(plane: &ControlPlane) -> Side {
        Side::with(plane.client().await.unwrap()).await
    }

    pub(crate) async fn sandbox(dir: &Path) -> Side {
        Side::with(Client::new(Sandbox::open(dir).unwrap(), "default")).await
    }

    async fn with(client: Client) -> Side {
        let id = format!("q{}", &uuid::Uuid::new_v4().simple().to_string()[..10]);
        let namespace = format!("conf-{id}-n");
        let values = BTreeMap::from([("id".to_string(), id), ("ns".to_string(), namespace)]);
        let side = Side { client, values };
        let step = Step {
            run: "POST ns".into(),
            body: Some(json!({"metadata": {"name": side.values["ns"]}})),
            ..Step::default()
        };
        let made = side.once(&step).await;
        assert_eq!(made.code, 201, "{}", made.body);
        side
    }

    pub(crate) async fn clean_up(&self) {
        let run = format!("DELETE ns {}", self.values["ns"]);
        self.once(&Step {
            run,
            ..Step::default()
        })
        .await;
    }

    pub(crate) async fn send(&mut self, step: &Step) -> Answer {
        let until = Instant::now() + Duration::from_secs(30);
        let answer = loop {
            let answer = self.once(step).await;
            let has = |text: &String| answer.body.to_string().contains(text);
            let wanted = step.until.is_none_or(|code| code == answer.code)
                && step.until_text.as_ref().is_none_or(has);
            if wanted || Instant::now() > until {
                break answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        for (name, pointer) in &step.save {
            if let Some(value) = answer.body.pointer(pointer).and_then(Value::as_str) {
                self.values.insert(name.clone(), value.to_string());
            }
        }
        answer
    }

    async fn once(&self, step: &Step) -> Answer {
        let wire = step.wire(&self.values);
        let mut request = http::Request::builder()
            .method(wire.method)
            .uri(wire.path)
            .header(USER_AGENT, "conformance");
        if let Some(accept) = &step.accept {
            request = request.header(ACCEPT, accept);
        }
        if let Some(media) = wire.media {
            request = request.header(CONTENT_TYPE, media);
        }
        let body = Body::from(wire.body.unwrap_or_default().into_bytes());
        let response = self.client.send(request.body(body).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Answer { code, body }
    }

    pub(crate) fn normal(&self, step: &Step, body: &Value) -> Value {
        let names = Names {
            namespace: &self.values["ns"],
            id: &self.values["id"],
            address: self.values.get("ip").map(String::as_str),
        };
        normal::normal(body, step, &names, "")
    }
}
