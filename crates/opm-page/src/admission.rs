//! Who may ask, and what every answer says to the browser.
//!
//! Any program of this machine, and any web page in a browser on it, can reach a loopback port.
//! The first address has a token, which becomes a cookie that no script can read and that no other
//! site's request carries. The Host has to be this very address, so that a name which somebody
//! else resolves to 127.0.0.1 leads nowhere, and a page of another origin is refused.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName, HeaderValue, LOCATION,
    ORIGIN, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

/// No script and no style but our own, nothing from elsewhere, and no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Said with every answer: what a cluster holds is not for a cache, a frame or another site. A
/// browser that must not say where a form is from at all would keep it from this page, too.
const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "same-origin"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
];

/// What a browser has to show. Never printed.
#[derive(Clone)]
pub(crate) struct Token(Arc<str>);

impl Token {
    /// 244 random bits.
    pub(crate) fn new() -> Self {
        let random = || uuid::Uuid::new_v4().simple().to_string();
        Self(format!("{}{}", random(), random()).into())
    }

    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    /// Compares digests: how long that takes tells nothing about the token.
    pub(crate) fn is(&self, shown: &str) -> bool {
        Sha256::digest(shown) == Sha256::digest(self.0.as_bytes())
    }
}

/// What a request is held against.
#[derive(Clone)]
struct Admission {
    token: Token,
    /// The addresses that the page has.
    hosts: [String; 2],
    /// The name of the cookie: another port is another page.
    cookie: String,
    /// Whether anything may be done.
    changes: bool,
}

/// The same routes, for who may ask alone.
pub(crate) fn guard(router: Router, token: Token, port: u16, changes: bool) -> Router {
    let admission = Admission {
        token,
        hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
        cookie: format!("opm-page-{port}"),
        changes,
    };
    router.layer(middleware::from_fn_with_state(admission, admit))
}

async fn admit(State(admission): State<Admission>, request: Request, next: Next) -> Response {
    let refused = |code: StatusCode, why: &'static str| (code, why).into_response();
    let mut response = match admission.decide(request.method(), request.uri(), request.headers()) {
        Decision::Welcome => next.run(request).await,
        Decision::Enter(cookie, place) => {
            let headers = [(SET_COOKIE, cookie), (LOCATION, place)];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Decision::WrongHost => refused(
            StatusCode::FORBIDDEN,
            "the Host of the request is not this page's address\n",
        ),
        Decision::WrongOrigin => refused(
            StatusCode::FORBIDDEN,
            "the request comes from another origin\n",
        ),
        Decision::WrongMethod => refused(
            StatusCode::METHOD_NOT_ALLOWED,
            "this page is for reading only\n",
        ),
        Decision::NoToken => refused(
            StatusCode::UNAUTHORIZED,
            "open the address that `opm ui` printed: its token is missing here\n",
        ),
    };
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Welcome,
    /// The token was shown: this cookie is set, and it goes on there.
    Enter(String, String),
    WrongHost,
    WrongOrigin,
    WrongMethod,
    NoToken,
}

impl Admission {
    fn decide(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Decision {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str());
        let host = text(HOST).and_then(Result::ok).unwrap_or_default();
        let named = uri.authority().map(|authority| authority.as_str());
        let own = |host: &str| self.hosts.iter().any(|one| one == host);
        if !own(host) || named.is_some_and(|named| !own(named)) {
            return Decision::WrongHost;
        }
        let origin = text(ORIGIN).map(|origin| origin.unwrap_or_default().to_owned());
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let writes = self.changes && *method == Method::POST;
        if !(reads || writes) {
            return Decision::WrongMethod;
        }
        // A browser says of every form where it is from.
        match origin {
            Some(origin) if origin != format!("http://{host}") => return Decision::WrongOrigin,
            None if !reads => return Decision::WrongOrigin,
            Some(_) | None => {}
        }
        if let Some((shown, place)) = token_in(uri) {
            return match self.token.is(shown) {
                true => Decision::Enter(self.cookie(), place),
                false => Decision::NoToken,
            };
        }
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|value| value.split(';'));
        let shown = cookies.any(|cookie| {
            let (name, value) = cookie.trim().split_once('=').unwrap_or_default();
            name == self.cookie && self.token.is(value)
        });
        match shown {
            true => Decision::Welcome,
            false => Decision::NoToken,
        }
    }

    fn cookie(&self) -> String {
        let token = self.token.secret();
        format!("{}={token}; Path=/; HttpOnly; SameSite=Strict", self.cookie)
    }
}

/// The token in an address, and the same place without it.
fn token_in(uri: &Uri) -> Option<(&str, String)> {
    let mut shown = uri.query()?.split('&');
    let token = shown.find_map(|pair| pair.strip_prefix("token="))?;
    let rest = uri.query()?.split('&');
    let rest = rest.filter(|pair| !pair.starts_with("token="));
    let rest: Vec<&str> = rest.collect();
    // A path that begins with two slashes would lead to another host.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    Some(match rest.is_empty() {
        true => (token, path),
        false => (token, format!("{path}?{}", rest.join("&"))),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail loudly")]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn decide(uri: &str, headers: &[(HeaderName, &str)]) -> Decision {
        decide_method(false, &Method::GET, uri, headers)
    }

    fn decide_method(
        changes: bool,
        method: &Method,
        uri: &str,
        headers: &[(HeaderName, &str)],
    ) -> Decision {
        let admission = Admission {
            token: Token("right".into()),
            hosts: ["127.0.0.1:7".to_owned(), "localhost:7".to_owned()],
            cookie: "opm-page-7".to_owned(),
            changes,
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        admission.decide(method, &uri.parse().unwrap(), &map)
    }

    #[test]
    fn only_who_shows_the_token_is_let_in() {
        let host = (HOST, "127.0.0.1:7");
        let cookie = |value| [host.clone(), (COOKIE, value)];
        assert_eq!(decide("/", &cookie("opm-page-7=right")), Decision::Welcome);
        let among = "a=b; opm-page-7=right; c=d";
        assert_eq!(decide("/", &cookie(among)), Decision::Welcome);
        for wrong in ["opm-page-7=wrong", "opm-page-8=right", "right", ""] {
            assert_eq!(decide("/", &cookie(wrong)), Decision::NoToken, "{wrong}");
        }
        assert_eq!(decide("/", from_ref(&host)), Decision::NoToken);
        assert_eq!(decide("/?token=wrong", from_ref(&host)), Decision::NoToken);
        let entered = |uri: &str| match decide(uri, from_ref(&host)) {
            Decision::Enter(cookie, place) => {
                assert!(cookie.ends_with("HttpOnly; SameSite=Strict"), "{cookie}");
                place
            }
            other => format!("{other:?}"),
        };
        assert_eq!(entered("/?token=right"), "/");
        assert_eq!(entered("/a?q=x&token=right&z=1"), "/a?q=x&z=1");
        assert_eq!(entered("//example.com/a?token=right"), "/example.com/a");
    }

    #[test]
    fn other_sites_are_refused() {
        let cookie = (COOKIE, "opm-page-7=right");
        let with = |more: &[(HeaderName, &str)]| {
            let all: Vec<_> = more.iter().cloned().chain([cookie.clone()]).collect();
            decide("/", &all)
        };
        for host in ["example.com", "127.0.0.1:8", "127.0.0.1.example.com:7", ""] {
            assert_eq!(with(&[(HOST, host)]), Decision::WrongHost, "{host}");
        }
        assert_eq!(with(&[]), Decision::WrongHost);
        let host = (HOST, "localhost:7");
        assert_eq!(with(from_ref(&host)), Decision::Welcome);
        let origin = |origin| with(&[host.clone(), (ORIGIN, origin)]);
        assert_eq!(origin("http://localhost:7"), Decision::Welcome);
        for other in ["http://example.com", "http://127.0.0.1:7", "null", "x"] {
            assert_eq!(origin(other), Decision::WrongOrigin, "{other}");
        }
        let post = |changes, more: &[(HeaderName, &str)]| {
            let all = [host.clone(), cookie.clone()].into_iter();
            let all: Vec<_> = all.chain(more.iter().cloned()).collect();
            decide_method(changes, &Method::POST, "/", &all)
        };
        let own = [(ORIGIN, "http://localhost:7")];
        assert_eq!(post(false, &own), Decision::WrongMethod);
        assert_eq!(post(true, &own), Decision::Welcome);
        assert_eq!(post(true, &[]), Decision::WrongOrigin);
        let other = [(ORIGIN, "http://example.com")];
        assert_eq!(post(true, &other), Decision::WrongOrigin);
        let put = decide_method(true, &Method::PUT, "/", &[host.clone(), cookie.clone()]);
        assert_eq!(put, Decision::WrongMethod);
    }
}
