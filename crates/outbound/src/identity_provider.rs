//! The OpenID Connect provider that knows the operator's people (`docs/decisions.md`, 386): the authorisation code flow
//! with PKCE, state and nonce.
//!
//! The provider's document and keys are read for each call, so they are never old. Tokens are neither stored nor logged:
//! what remains of a sign-in is an [`Identity`].

use std::str::FromStr;

use base::secret::Secret;
use chrono::DateTime;
use entity::Timestamp;
use entity::person::Role;
use futures::FutureExt;
use futures::future::BoxFuture;
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreClientAuthMethod, CoreErrorResponseType, CoreGenderClaim,
    CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata,
    CoreResponseType, CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse,
    CoreTokenType,
};
use openidconnect::{
    AdditionalClaims, AsyncHttpClient, AuthType, AuthenticationFlow, AuthorizationCode, Client, ClientId,
    ClientSecret, CsrfToken, DiscoveryError, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, IdTokenClaims, IdTokenFields, IssuerUrl, Nonce,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope, StandardErrorResponse,
    StandardTokenResponse, TokenResponse,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::limits::{PERSON_NAME_MAX, PROVIDER_BYTES_MAX, PROVIDER_TIMEOUT};
use crate::{AddressPolicy, Allowed, ExchangeError, Outbound};

/// The longest name that a provider gives a person.
const SUBJECT_MAX: usize = 255;

/// The signatures that are accepted: of keys that only the provider has.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// A provider, and what this server is there.
pub struct IdentityProvider {
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: Option<Secret>,
    role_claim: String,
    role_names: Vec<RoleName>,
    client: GuardedClient,
}

/// The provider's name of a role. A role may have several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleName {
    /// The role that a person with this name gets.
    pub role: Role,
    /// Its name in the claim.
    pub name: String,
}

impl FromStr for RoleName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = text.split_once('=').map(|(role, name)| (Role::from_code(role.trim()), name.trim()));
        match named {
            Some((Some(role), name)) if !name.is_empty() => Ok(Self { role, name: name.into() }),
            _ => Err("must be ROLE=NAME, with viewer, support, finance or administrator as the role"),
        }
    }
}

/// A sign-in that has begun. Its browser keeps it.
#[derive(Serialize, Deserialize)]
pub struct SignInAttempt {
    /// Comes back with the browser.
    pub state: String,
    /// Comes back in the ID token, and names the attempt.
    pub nonce: String,
    verifier: String,
}

/// A person, as the provider names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The URL of the provider, as its tokens name it.
    pub issuer: String,
    /// The provider's name for the person, which never changes.
    pub subject: String,
    /// A name for people.
    pub name: String,
    /// The roles that this server knows.
    pub roles: Vec<Role>,
}

/// The reason why nobody is signed in. The texts hold no token.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The provider does not answer, or not as a provider does.
    #[error("the provider does not answer as it should: {0}")]
    Unavailable(String),
    /// What the browser or the provider brought is not accepted.
    #[error("the sign-in is refused: {0}")]
    Refused(String),
    /// A person without a role.
    #[error("{} has none of the roles", .0.name)]
    NoRole(Box<Identity>),
}

/// All claims that the library does not know by name.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct OtherClaims {
    #[serde(flatten)]
    all: Map<String, Value>,
}

impl AdditionalClaims for OtherClaims {}

type Claims = IdTokenClaims<OtherClaims, CoreGenderClaim>;
type Fields = IdTokenFields<
    OtherClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
type ProviderClient = Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<Fields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl IdentityProvider {
    /// Creates a provider without calling it; `None` if the issuer is no address.
    pub fn new(
        issuer: &str,
        (client_id, client_secret): (&str, Option<Secret>),
        role_claim: &str,
        role_names: Vec<RoleName>,
    ) -> Option<Self> {
        let host = Url::parse(issuer).ok()?.host_str()?.trim_matches(['[', ']']).to_owned();
        let allow = host.parse::<Allowed>().into_iter().collect();
        Some(Self {
            issuer: IssuerUrl::new(issuer.to_owned()).ok()?,
            client_id: ClientId::new(client_id.to_owned()),
            client_secret,
            role_claim: role_claim.to_owned(),
            role_names,
            client: GuardedClient(Outbound::new(AddressPolicy::live(allow))),
        })
    }

    /// Returns the URL of the provider, as its tokens must name it.
    pub fn issuer(&self) -> &str {
        self.issuer.as_str()
    }

    /// Begins a sign-in: returns the provider's page for the browser. `redirect` is the address to come back to.
    pub async fn begin(&self, redirect: &str) -> Result<(Url, SignInAttempt), IdentityError> {
        let client = self.client(redirect).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let request = client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        let scopes = ["profile", "email"].map(|scope| Scope::new(scope.to_owned()));
        let (address, state, nonce) = request.add_scopes(scopes).set_pkce_challenge(challenge).url();
        let attempt = SignInAttempt {
            state: state.into_secret(),
            nonce: nonce.secret().clone(),
            verifier: verifier.into_secret(),
        };
        Ok((address, attempt))
    }

    /// Ends a sign-in: exchanges the code for an ID token and verifies its signature, issuer, audience, nonce and end.
    pub async fn finish(
        &self,
        redirect: &str,
        attempt: SignInAttempt,
        code: String,
        now: Timestamp,
    ) -> Result<Identity, IdentityError> {
        let client = self.client(redirect).await?;
        let exchange = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|_| IdentityError::Unavailable("its document names no token endpoint".into()))?
            .set_pkce_verifier(PkceCodeVerifier::new(attempt.verifier));
        let response = exchange.request_async(&self.client).await.map_err(of_exchange)?;
        let token =
            response.id_token().ok_or_else(|| IdentityError::Refused("there is no ID token".into()))?;
        let verifier = client.id_token_verifier().set_allowed_algs(ALGORITHMS).set_time_fn(move || {
            DateTime::from_timestamp_millis(now.millis()).unwrap_or(DateTime::UNIX_EPOCH)
        });
        let claims = token
            .claims(&verifier, &Nonce::new(attempt.nonce))
            .map_err(|error| IdentityError::Refused(error.to_string()))?;
        // OpenID Connect Core, 2: at most 255 ASCII characters. Cut off, two persons might be one.
        let subject = claims.subject().as_str();
        if subject.len() > SUBJECT_MAX || !subject.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(IdentityError::Refused("the subject is longer than it may be, or not ASCII".into()));
        }
        let identity = self.identity(claims);
        if identity.roles.is_empty() {
            return Err(IdentityError::NoRole(identity.into()));
        }
        Ok(identity)
    }

    /// Reads the provider's document and keys.
    pub async fn discover(&self) -> Result<CoreProviderMetadata, IdentityError> {
        let read = CoreProviderMetadata::discover_async(self.issuer.clone(), &self.client).await;
        read.map_err(|error| {
            let why = if let DiscoveryError::Request(error) = &error {
                error.to_string()
            } else if let DiscoveryError::Response(status, ..) = &error {
                format!("its document or its keys have status {status}")
            } else {
                error.to_string()
            };
            IdentityError::Unavailable(why)
        })
    }

    async fn client(&self, redirect: &str) -> Result<ProviderClient, IdentityError> {
        let redirect = RedirectUrl::new(redirect.to_owned())
            .map_err(|_| IdentityError::Refused("this server's base URL is no address".into()))?;
        let metadata = self.discover().await?;
        // A provider that says nothing takes the header.
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes_header =
            methods.is_none_or(|methods| methods.contains(&CoreClientAuthMethod::ClientSecretBasic));
        let auth = if takes_header { AuthType::BasicAuth } else { AuthType::RequestBody };
        let secret = self.client_secret.as_ref().map(|secret| ClientSecret::new(secret.expose().to_owned()));
        let client = Client::from_provider_metadata(metadata, self.client_id.clone(), secret);
        Ok(client.set_redirect_uri(redirect).set_auth_type(auth))
    }

    fn identity(&self, claims: &Claims) -> Identity {
        let subject = claims.subject().as_str().to_owned();
        let email = claims.email().map(|email| email.as_str());
        let name = email.or_else(|| claims.preferred_username().map(|name| name.as_str()));
        let name = name.map(shortened).filter(|name| !name.is_empty()).unwrap_or_else(|| subject.clone());
        let named = words_of(claimed(&claims.additional_claims().all, &self.role_claim));
        let roles = Role::ALL.iter().copied().filter(|role| named.iter().any(|name| self.means(name, *role)));
        Identity { issuer: self.issuer.to_string(), subject, name, roles: roles.collect() }
    }

    /// Returns whether a word of the claim means a role: by its configured names if it has any, by its own otherwise.
    fn means(&self, word: &str, role: Role) -> bool {
        let mut names = self.role_names.iter().filter(|named| named.role == role).peekable();
        match names.peek() {
            None => word == role.code(),
            Some(_) => names.any(|named| named.name == word),
        }
    }
}

/// Finds a claim by its name, or by its path.
fn claimed<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    claims.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        claimed(claims.get(first)?.as_object()?, rest)
    })
}

/// Returns the words of a claim: a list of them, or one.
fn words_of(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(word)) => vec![word],
        _ => Vec::new(),
    }
}

fn shortened(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(PERSON_NAME_MAX).collect()
}

/// Returns why a code could not be exchanged. A provider that refuses the code answers with an error of its own.
fn of_exchange(
    error: RequestTokenError<ExchangeError, StandardErrorResponse<CoreErrorResponseType>>,
) -> IdentityError {
    match error {
        RequestTokenError::ServerResponse(answer) => IdentityError::Refused(answer.error().to_string()),
        RequestTokenError::Request(error) => IdentityError::Unavailable(error.to_string()),
        RequestTokenError::Parse(..) => {
            IdentityError::Unavailable("its answer to the code is malformed".into())
        }
        RequestTokenError::Other(_) => IdentityError::Unavailable("its answer to the code is unknown".into()),
    }
}

/// The client of the library's calls: no redirects, no second TLS library, and an end.
struct GuardedClient(Outbound);

impl<'c> AsyncHttpClient<'c> for GuardedClient {
    type Error = ExchangeError;
    type Future = BoxFuture<'c, Result<HttpResponse, ExchangeError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        self.0.exchange(request, PROVIDER_BYTES_MAX, PROVIDER_TIMEOUT).boxed()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn provider(claim: &str, names: &[&str]) -> IdentityProvider {
        let names = names.iter().map(|name| name.parse().expect("a name")).collect();
        IdentityProvider::new("https://id.example.com", ("dashboard", None), claim, names)
            .expect("a provider")
    }

    fn roles(provider: &IdentityProvider, claims: &Value) -> Vec<Role> {
        let claims = json!({
            "iss": "https://id.example.com", "sub": "1", "aud": "dashboard", "exp": 2, "iat": 1, "claims": claims,
        });
        let mut claims = claims.as_object().expect("claims").clone();
        let more = claims.remove("claims").and_then(|more| more.as_object().cloned()).unwrap_or_default();
        claims.extend(more);
        provider.identity(&serde_json::from_value(claims.into()).expect("claims")).roles
    }

    #[test]
    fn roles_come_from_a_list_a_word_a_path_or_a_name_with_dots() {
        let plain = provider("roles", &[]);
        assert_eq!(
            roles(&plain, &json!({ "roles": ["finance", "viewer", "other", 1] })),
            [Role::Viewer, Role::Finance]
        );
        assert_eq!(roles(&plain, &json!({ "roles": "support" })), [Role::Support]);
        for nothing in [
            json!({}),
            json!({ "roles": null }),
            json!({ "roles": { "viewer": true } }),
            json!({ "role": "viewer" }),
        ] {
            assert_eq!(roles(&plain, &nothing), []);
        }
        let nested = json!({ "realm_access": { "roles": ["administrator"] } });
        assert_eq!(roles(&provider("realm_access.roles", &[]), &nested), [Role::Administrator]);
        let dotted = json!({ "https://example.com/roles": ["viewer"] });
        assert_eq!(roles(&provider("https://example.com/roles", &[]), &dotted), [Role::Viewer]);
    }

    #[test]
    fn a_role_with_names_of_its_own_has_only_these() {
        let named = provider("roles", &["finance=accounting", "finance=treasury"]);
        for (word, expected) in [
            ("accounting", vec![Role::Finance]),
            ("treasury", vec![Role::Finance]),
            ("finance", vec![]),
            ("viewer", vec![Role::Viewer]),
        ] {
            assert_eq!(roles(&named, &json!({ "roles": [word] })), expected, "{word}");
        }
    }
}
