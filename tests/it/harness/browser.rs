//! A browser in the dashboard.

use axum::body::Body;
use http::{HeaderMap, Method, header, request};
use tokio::task::JoinHandle;
use url::form_urlencoded;

use super::sending::send_slowly;
use super::{Answer, App, Client};

/// The server's origin.
pub const OWN: &str = "http://test";

/// A browser.
pub struct Browser {
    client: Client,
    /// Its cookie, as it sends it back.
    pub cookie: Option<String>,
    /// Its cookie of a sign-in that has begun.
    pub attempt: Option<String>,
    /// The origin of the page whose form it sends.
    pub origin: Option<&'static str>,
    /// What a proxy writes about it.
    pub forwarded: Option<String>,
}

impl Browser {
    pub fn new(app: &App) -> Self {
        Self::with_client(app.anonymous())
    }

    /// Returns the browser of a client without a key.
    pub fn with_client(client: Client) -> Self {
        Self { client, cookie: None, attempt: None, origin: Some(OWN), forwarded: None }
    }

    /// Returns one that has signed in.
    pub async fn with(app: &App, key: &str) -> Self {
        let mut browser = Self::new(app);
        let answer = browser.sign_in(key).await;
        led(&answer, "/dashboard");
        browser
    }

    pub async fn sign_in(&mut self, key: &str) -> Answer {
        self.post("/dashboard/sign-in", &[("key", key)]).await
    }

    pub async fn send(&mut self, method: Method, path: &str, form: Option<String>) -> Answer {
        let form = form.map(String::into_bytes);
        self.send_as(method, path, ("application/x-www-form-urlencoded", form)).await
    }

    /// Begins a request with its cookies; the origin is that of a form.
    fn request(&self, method: Method, path: &str, is_form: bool) -> request::Builder {
        let mut request = self.client.request(method, path).header(header::HOST, "test");
        let own: Vec<_> = [&self.cookie, &self.attempt].into_iter().flatten().map(String::as_str).collect();
        if !own.is_empty() {
            request = request.header(header::COOKIE, format!("other=1; {}", own.join("; ")));
        }
        if let Some(forwarded) = &self.forwarded {
            request = request.header("x-forwarded-for", forwarded);
        }
        if let Some(origin) = self.origin.filter(|_| is_form) {
            request = request.header(header::ORIGIN, origin);
        }
        request
    }

    /// Sends a form whose end comes later.
    pub async fn post_slowly(
        &self,
        path: &str,
        pairs: &[(&str, &str)],
    ) -> (JoinHandle<Answer>, impl FnOnce() + use<>) {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let request = self.request(Method::POST, path, true);
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        send_slowly(&self.client, request, form).await
    }

    async fn send_as(
        &mut self,
        method: Method,
        path: &str,
        (content_type, form): (&str, Option<Vec<u8>>),
    ) -> Answer {
        let request = self.request(method, path, form.is_some()).header(header::CONTENT_TYPE, content_type);
        let answer =
            self.client.send_unchecked(request.body(Body::from(form.unwrap_or_default())).unwrap()).await;
        for cookie in cookies(&answer.headers) {
            let is_attempt = cookie.starts_with("card_payments_sign_in_");
            let kept = if is_attempt { &mut self.attempt } else { &mut self.cookie };
            *kept = (!cookie.ends_with('=')).then_some(cookie);
        }
        answer
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&mut self, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        self.send(Method::POST, path, Some(form)).await
    }

    /// Sends a form of a page of this session with a file, or as browsers send it if nobody has chosen one.
    pub async fn upload(
        &mut self,
        path: &str,
        pairs: &[(&str, &str)],
        (filename, content): (&str, &[u8]),
    ) -> Answer {
        let csrf_token = csrf_token(&self.page("/clock").await);
        let mut body = Vec::new();
        for (name, text) in [&[("form", csrf_token.as_str())], pairs].concat() {
            let part = format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
            body.extend_from_slice(part.as_bytes());
        }
        let head = format!(
            "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{filename}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(&[head.as_bytes(), content, b"\r\n--x--\r\n"].concat());
        let sent = ("multipart/form-data; boundary=x", Some(body));
        self.send_as(Method::POST, &format!("/dashboard{path}"), sent).await
    }

    /// Returns a page.
    pub async fn page(&mut self, path: &str) -> String {
        let answer = self.get(&format!("/dashboard{path}")).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.text
    }

    /// Fills in a form of a page and sends it, with the fields that every form carries.
    pub async fn submit(&mut self, page: &str, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let csrf_token = csrf_token(&self.page(page).await);
        let back = format!("/dashboard{page}");
        let own = [("form", csrf_token.as_str()), ("back", back.as_str())];
        self.post(&format!("/dashboard{path}"), &[&own[..], pairs].concat()).await
    }

    /// Sends a form of a page of this session.
    pub async fn press(&mut self, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let csrf_token = csrf_token(&self.page("/clock").await);
        self.post(&format!("/dashboard{path}"), &[&[("form", csrf_token.as_str())], pairs].concat()).await
    }
}

/// Returns the cookies that an answer sets, as the browser sends them back.
pub fn cookies(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let cookies = headers.get_all(header::SET_COOKIE).iter();
    cookies.map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap().to_owned())
}

#[track_caller]
pub fn led(answer: &Answer, to: &str) {
    assert_eq!(
        (answer.status, answer.headers[header::LOCATION].to_str().unwrap()),
        (303, to),
        "{}",
        answer.text
    );
}

/// Returns the CSRF field of a page's forms.
#[track_caller]
pub fn csrf_token(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"form\" value=\"").unwrap_or_else(|| panic!("no form: {page}"));
    rest.split('"').next().unwrap().to_owned()
}

#[track_caller]
pub fn assert_sign_in(answer: &Answer) {
    assert!(answer.status == 200 && answer.text.contains("<h1>Sign in</h1>"), "{}", answer.text);
}

/// Expects a refusal in the API's words, as a page.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, words: &str) {
    assert_eq!(answer.status, status, "{}", answer.text);
    assert!(
        answer.text.contains("role=\"alert\"") && answer.text.contains(words),
        "{words}: {}",
        answer.text
    );
    guarded(answer);
}

#[track_caller]
pub fn guarded(answer: &Answer) {
    let header = |name: &str| answer.headers[name].to_str().unwrap();
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    let policy = header("content-security-policy");
    for part in ["default-src 'none'", "script-src 'self'", "form-action 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(
        !policy.contains("unsafe") && !answer.text.contains(" style=") && !answer.text.contains(" onclick=")
    );
    assert_eq!(
        (header("x-frame-options"), header("cache-control"), header("referrer-policy")),
        ("DENY", "no-store", "same-origin")
    );
}
