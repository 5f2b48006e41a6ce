//! Which request meets which fault. Pure: nothing is sent, ended or waited for here.

use std::str::FromStr;
use std::time::Duration;

use http::StatusCode;

use super::request::RequestInfo;

/// On which side of the API server's work a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The request does not reach the API server.
    Before,
    /// The API server has done its work and answered; the client does not get the answer.
    After,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The relay answers, and the API server hears nothing.
    Answer {
        /// The status of the answer.
        code: StatusCode,
        /// The reason in the Status object; without one the field is absent.
        reason: Option<String>,
        /// `Retry-After`, in seconds.
        retry_after: Option<u32>,
        /// What the Status object says; without one, that the relay answers.
        message: Option<String>,
    },
    /// The relay answers with this text, as a container's log is answered, and the API server
    /// hears nothing.
    Text(String),
    /// The connection is reset.
    Reset(Moment),
    /// The request (or its answer) waits, then goes on; at the latest when it is released.
    Stall(Moment, Duration),
    /// The process under test is killed (SIGKILL) and its connection dropped.
    Kill(Moment),
}

impl Fault {
    /// 409, as when somebody else wrote first.
    #[must_use]
    pub fn conflict() -> Self {
        Self::answer(StatusCode::CONFLICT, Some("Conflict"))
    }

    /// 429 with `Retry-After`.
    #[must_use]
    pub fn too_many_requests(retry_after: u32) -> Self {
        Self::Answer {
            code: StatusCode::TOO_MANY_REQUESTS,
            reason: Some("TooManyRequests".to_owned()),
            retry_after: Some(retry_after),
            message: None,
        }
    }

    /// 500 with the reason `InternalError` and these words, as when a webhook does not answer.
    #[must_use]
    pub fn internal_error_saying(message: &str) -> Self {
        Self::Answer {
            code: StatusCode::INTERNAL_SERVER_ERROR,
            reason: Some("InternalError".to_owned()),
            retry_after: None,
            message: Some(message.to_owned()),
        }
    }

    /// 500 with the reason `InternalError`.
    #[must_use]
    pub fn internal_error() -> Self {
        Self::answer(StatusCode::INTERNAL_SERVER_ERROR, Some("InternalError"))
    }

    /// 500 without a reason, which the API server uses for what is permanent.
    #[must_use]
    pub fn error_without_reason() -> Self {
        Self::answer(StatusCode::INTERNAL_SERVER_ERROR, None)
    }

    /// 503.
    #[must_use]
    pub fn unavailable() -> Self {
        Self::answer(StatusCode::SERVICE_UNAVAILABLE, Some("ServiceUnavailable"))
    }

    /// 403.
    #[must_use]
    pub fn forbidden() -> Self {
        Self::answer(StatusCode::FORBIDDEN, Some("Forbidden"))
    }

    fn answer(code: StatusCode, reason: Option<&str>) -> Self {
        Self::Answer {
            code,
            reason: reason.map(str::to_owned),
            retry_after: None,
            message: None,
        }
    }
}

/// Which requests a fault is meant for. Everything that is given must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFilter {
    verb: Option<String>,
    path: Option<String>,
    nth: usize,
    times: usize,
}

impl RequestFilter {
    /// The next request.
    #[must_use]
    pub fn next() -> Self {
        Self {
            verb: None,
            path: None,
            nth: 1,
            times: 1,
        }
    }

    /// The nth request from now on, counted from 1.
    #[must_use]
    pub fn nth(nth: usize) -> Self {
        Self {
            nth,
            ..Self::next()
        }
    }

    /// The next request with this verb (as in RBAC: `get`, `list`, `patch`, …).
    ///
    /// # Panics
    /// As [`Self::and_verb`].
    #[must_use]
    pub fn verb(verb: &str) -> Self {
        Self::next().and_verb(verb)
    }

    /// The next request whose path, with its query, contains this.
    #[must_use]
    pub fn path(part: &str) -> Self {
        Self::next().and_path(part)
    }

    /// Also with this verb.
    ///
    /// # Panics
    /// When it is not written in small letters, and would never be met.
    #[must_use]
    pub fn and_verb(self, verb: &str) -> Self {
        assert_eq!(verb, verb.to_lowercase(), "verbs as in RBAC");
        Self {
            verb: Some(verb.to_owned()),
            ..self
        }
    }

    /// Also with this in its path or query.
    #[must_use]
    pub fn and_path(self, part: &str) -> Self {
        Self {
            path: Some(part.to_owned()),
            ..self
        }
    }

    /// Only from the nth such request on.
    #[must_use]
    pub fn from_nth(self, nth: usize) -> Self {
        Self { nth, ..self }
    }

    /// So many times in a row, instead of once.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Every time from then on.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(usize::MAX)
    }

    /// Whether a request is one of those that it counts.
    #[must_use]
    pub fn fits(&self, seen: &RequestInfo) -> bool {
        self.verb.as_ref().is_none_or(|verb| *verb == seen.verb)
            && self
                .path
                .as_ref()
                .is_none_or(|part| seen.uri.contains(part.as_str()))
    }
}

/// The rules of a relay, with what they have met so far.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<RelayRule>);

#[derive(Debug)]
struct RelayRule {
    when: RequestFilter,
    fault: Fault,
    met: usize,
}

impl Rules {
    pub(super) fn add(&mut self, when: RequestFilter, fault: Fault) {
        self.0.push(RelayRule {
            when,
            fault,
            met: 0,
        });
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The fault for this request: of the first rule that strikes. All rules count it.
    pub(super) fn decide(&mut self, seen: &RequestInfo) -> Option<Fault> {
        let mut struck = None;
        for rule in self.0.iter_mut().filter(|rule| rule.when.fits(seen)) {
            rule.met += 1;
            let last = rule.when.nth.saturating_add(rule.when.times - 1);
            if struck.is_none() && (rule.when.nth..=last).contains(&rule.met) {
                struck = Some(rule.fault.clone());
            }
        }
        struck
    }
}

/// A rule as the command line spells it: `verb=patch,path=/secrets/,nth=2,times=1,fault=kill-after`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleText {
    /// Which requests.
    pub when: RequestFilter,
    /// What happens to them.
    pub fault: Fault,
}

impl FromStr for RuleText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut when = RequestFilter::next();
        let mut fault = None;
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("no `=` in `{part}`"))?;
            let number = || value.parse().map_err(|_| format!("`{value}` is no number"));
            when = match key {
                "verb" => when.and_verb(value),
                "path" => when.and_path(value),
                "nth" => when.from_nth(number()?),
                "times" if value == "always" => when.always(),
                "times" => when.times(number()?.max(1)),
                "fault" => {
                    fault = Some(fault_named(value)?);
                    when
                }
                _ => return Err(format!("`{key}` is none of verb, path, nth, times, fault")),
            };
        }
        let fault = fault.ok_or("the rule names no fault")?;
        Ok(Self { when, fault })
    }
}

fn fault_named(name: &str) -> Result<Fault, String> {
    Ok(match name {
        "409" => Fault::conflict(),
        "429" => Fault::too_many_requests(1),
        "500" => Fault::internal_error(),
        "500-without-reason" => Fault::error_without_reason(),
        "503" => Fault::unavailable(),
        "403" => Fault::forbidden(),
        "reset" => Fault::Reset(Moment::Before),
        "reset-after" => Fault::Reset(Moment::After),
        "stall" => Fault::Stall(Moment::Before, Duration::from_secs(3600)),
        "stall-after" => Fault::Stall(Moment::After, Duration::from_secs(3600)),
        "kill" => Fault::Kill(Moment::Before),
        "kill-after" => Fault::Kill(Moment::After),
        _ => {
            let known = "403, 409, 429, 500, 500-without-reason, 503, reset, reset-after, stall, \
                         stall-after, kill, kill-after";
            return Err(format!("`{name}` is none of the faults: {known}"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Fault, Moment, RequestFilter, RequestInfo, RuleText, Rules};

    fn seen(method: &str, uri: &str) -> RequestInfo {
        RequestInfo::read(&method.parse().unwrap(), &uri.parse().unwrap())
    }

    #[test]
    fn a_rule_strikes_at_its_nth_match_and_then_no_more() {
        let mut rules = Rules::default();
        let when = RequestFilter::verb("patch")
            .and_path("/configmaps/")
            .from_nth(2)
            .times(2);
        rules.add(when, Fault::conflict());
        let patch = seen("PATCH", "/api/v1/namespaces/x/configmaps/a");
        let get = seen("GET", "/api/v1/namespaces/x/configmaps/a");
        let struck: Vec<_> = [&patch, &get, &patch, &get, &patch, &patch]
            .map(|one| rules.decide(one).is_some())
            .into();
        assert_eq!(struck, [false, false, true, false, true, false]);
    }

    #[test]
    fn all_rules_count_and_the_first_one_strikes() {
        let mut rules = Rules::default();
        rules.add(RequestFilter::nth(1), Fault::conflict());
        rules.add(RequestFilter::nth(1).always(), Fault::unavailable());
        rules.add(RequestFilter::nth(3), Fault::Kill(Moment::Before));
        let get = seen("GET", "/version");
        let faults = [0; 3].map(|_| rules.decide(&get));
        let expected = [
            Fault::conflict(),
            Fault::unavailable(),
            Fault::unavailable(),
        ];
        assert_eq!(faults, expected.map(Some));
    }

    #[test]
    fn rules_are_read_from_text() {
        let rule: RuleText = "verb=patch,path=/secrets/,nth=2,fault=kill-after"
            .parse()
            .unwrap();
        let when = RequestFilter::verb("patch")
            .and_path("/secrets/")
            .from_nth(2);
        assert_eq!(
            rule,
            RuleText {
                when,
                fault: Fault::Kill(Moment::After)
            }
        );
        for bad in [
            "",
            "verb=get",
            "fault=511",
            "nth=x,fault=503",
            "color=red,fault=503",
        ] {
            assert!(bad.parse::<RuleText>().is_err(), "{bad}");
        }
    }
}
