//! A running server, asked through its API: for commands that do what any caller could.

use card_payments::outbound;
use card_payments::secret::Secret;
use clap::Args;
use http::Method;
use serde_json::Value;

/// Which server, and whose account.
#[derive(Args)]
pub struct ServerOptions {
    /// The address of a running server.
    #[arg(long, env = "CARD_PAYMENTS_SERVER", default_value = "http://127.0.0.1:8080")]
    server: String,
    /// A secret key: a server of the test environment prints one when it starts.
    #[arg(long, env = "CARD_PAYMENTS_KEY", hide_env_values = true)]
    key: Secret,
}

/// Somebody who asks with a key.
pub struct Client {
    http: reqwest::Client,
    server: String,
    key: Secret,
}

/// What a server answered.
pub struct Told {
    /// The status.
    pub status: u16,
    /// Whether it has answered so before, under the same Idempotency-Key.
    pub replayed: bool,
    /// The body; null where there is none.
    pub body: Value,
}

impl Client {
    /// Of the server and the account that are named.
    pub fn new(options: ServerOptions) -> Self {
        let server = options.server.trim_end_matches('/').to_owned();
        Self { http: outbound::client(), server, key: options.key }
    }

    /// The same server, asked with another key.
    pub fn with_key(&self, key: &str) -> Self {
        Self { http: self.http.clone(), server: self.server.clone(), key: key.into() }
    }

    /// Ask, with parameters in JSON unless they are null. Err: there is no answer.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        parameters: &Value,
        headers: &[(&'static str, &str)],
    ) -> Result<Told, String> {
        let unreached = |error: &dyn std::error::Error| {
            let mut cause = error;
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            format!("{} cannot be reached: {cause}", self.server)
        };
        let mut request = self.http.request(method, format!("{}{path}", self.server));
        request = request.basic_auth(self.key.expose(), Some(""));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !parameters.is_null() {
            request = request.header("content-type", "application/json").body(parameters.to_string());
        }
        let answer = request.send().await.map_err(|error| unreached(&error))?;
        let status = answer.status().as_u16();
        let replayed = answer.headers().contains_key("idempotent-replayed");
        let text = answer.text().await.map_err(|error| unreached(&error))?;
        let body = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(&text) };
        let body = body.map_err(|_| format!("{} answers {status}, but not as this API does", self.server))?;
        Ok(Told { status, replayed, body })
    }
}

impl Told {
    /// The record of a success. Err: why it is none, in the words of the API.
    pub fn record(&self) -> Result<&Value, String> {
        if (200..300).contains(&self.status) { Ok(&self.body["response"]) } else { Err(self.refusal()) }
    }

    /// The code of a refusal.
    pub fn code(&self) -> &str {
        self.error()["error"].as_str().unwrap_or_default()
    }

    /// The sentences of a refusal, and its code.
    fn refusal(&self) -> String {
        let said = |error: &Value, name: &str| error[name].as_str().unwrap_or_default().to_owned();
        let error = self.error();
        let messages: Vec<_> = error["messages"].as_array().into_iter().flatten().collect();
        let sentence = if messages.is_empty() {
            said(error, "error_description")
        } else {
            messages.iter().map(|message| said(message, "message")).collect::<Vec<_>>().join(", ")
        };
        format!("{sentence} ({} {})", self.status, self.code())
    }

    /// One of the errors stands in an array.
    fn error(&self) -> &Value {
        self.body.get(0).unwrap_or(&self.body)
    }
}
