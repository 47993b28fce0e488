//! Refused forms: the page of the form is shown again, with each error beside its field and what was typed in it.
//!
//! Pages know nothing of this: they are rendered as ever, and the form that was sent is filled in afterwards. So no form can lack
//! it. Every page is markup of ours, in which quotation marks and angle brackets within texts and attributes are escaped.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use maud::{Markup, PreEscaped, html};
use recording::has_card_number;
use tower::ServiceExt;
use url::form_urlencoded;

use super::auth::{self, AccountSession};
use super::layout::{PageContent, is_own};
use super::markup::{Piece, Tag, pieces};
use crate::api::extract::Input;
use crate::params::FieldMessage;

/// The field of forms that names their page.
pub const BACK: &str = "back";

/// The pages, without the middleware around them.
#[derive(Clone)]
pub struct Pages(pub Router);

/// The messages of a refusal: in general, and about single fields.
#[derive(Clone)]
pub struct Refusal {
    /// The sentence.
    pub description: String,
    /// The code, and how it was answered.
    pub code: Option<Markup>,
    pub faults: Vec<FieldMessage>,
}

impl Refusal {
    /// Creates the refusal of one field.
    pub fn with_field(field: &str, description: &str) -> Self {
        let faults = vec![FieldMessage::bare(field, description)];
        Self { description: description.to_owned(), code: None, faults }
    }
}

/// A form that a request has sent.
#[derive(Clone, Default)]
pub struct SentForm {
    /// The path to which it was sent.
    action: String,
    /// The texts that were typed, by the names of their fields; empty until the body has been read.
    typed: Arc<OnceLock<Vec<(String, String)>>>,
}

impl SentForm {
    /// Creates the form of a request. That of a list's filters is in its query.
    pub fn of_request(request: &Parts) -> Self {
        let form = Self { action: request.uri.path().to_owned(), ..Self::default() };
        if let Some(query) = request.uri.query().filter(|_| request.method == Method::GET) {
            let typed = form_urlencoded::parse(query.as_bytes()).into_owned();
            form.typed.get_or_init(|| typed.collect());
        }
        form
    }

    /// Creates a form that is sent to an address.
    pub fn sent_to(action: &str) -> Self {
        Self { action: action.to_owned(), ..Self::default() }
    }

    /// Keeps the fields of the form's body.
    pub fn keep(&self, input: &Input) {
        self.typed.get_or_init(|| input.tree().as_object().map(recording::query).unwrap_or_default());
    }

    fn fields(&self) -> &[(String, String)] {
        self.typed.get().map_or(&[], Vec::as_slice)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.fields().iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    /// Returns the address of the page that has the form, if it is known.
    fn page(&self) -> Option<String> {
        let page = self.text(BACK).map(str::to_owned);
        // Others, like the filters of a list, belong to the page at their own address.
        let page = page.or_else(|| (!self.fields().is_empty()).then(|| self.action.clone()));
        page.filter(|page| is_own(page))
    }

    /// Returns a page with this form as it was sent, its errors beside its fields, and all of them at the top.
    pub fn shown_on(&self, page: PageContent, refusal: &Refusal) -> PageContent {
        page.rewritten(|content| {
            let (content, fields) = self.filled(&content, &refusal.faults);
            let faults = refusal.faults.iter().zip(&fields);
            let faults: Vec<_> = faults.filter(|(fault, _)| fault.message != refusal.description).collect();
            html! {
                div.alert role="alert" {
                    p { strong { (refusal.description) } }
                    @if !faults.is_empty() {
                        ul {
                            @for (fault, field) in faults {
                                li {
                                    @if let Some(field) = field { a href={ "#" (field) } { (fault.message) } }
                                    @else { (fault.message) }
                                }
                            }
                        }
                    }
                    @if let Some(code) = &refusal.code { p { (code) } }
                }
                (PreEscaped(content))
            }
        })
    }

    /// Fills in the form that was sent. Returns the page, and for each fault the id of its field, if the form has one.
    fn filled(&self, page: &str, faults: &[FieldMessage]) -> (String, Vec<Option<String>>) {
        let Some(range) = self.place(page) else { return (page.to_owned(), vec![None; faults.len()]) };
        let mut filling = Filling::new(self, faults);
        for piece in pieces(&page[range.clone()]) {
            filling.add(piece);
        }
        let Filling { written, fields, .. } = filling;
        (format!("{}{}{}", &page[..range.start], written.concat(), &page[range.end..]), fields)
    }

    /// Finds the form on its page. Of several with the same address, it is the one that has most of the fields.
    fn place(&self, page: &str) -> Option<Range<usize>> {
        let starts = page.match_indices("<form ").map(|(start, _)| start);
        let forms = starts.filter_map(|start| Some(start..start + page[start..].find("</form>")?));
        forms
            .filter_map(|form| Some((self.distance(&page[form.clone()])?, form)))
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, form)| form)
    }

    /// Returns how many of the sent fields a form lacks, or has only as buttons; `None` if it is sent elsewhere.
    fn distance(&self, form: &str) -> Option<(usize, usize)> {
        let tags: Vec<_> = pieces(form).filter_map(Piece::tag).collect();
        let is_sent_there =
            |tag: &Tag<'_>| ["action", "formaction"].iter().any(|name| tag.text(name) == Some(&*self.action));
        if !tags.iter().any(is_sent_there) {
            return None;
        }
        let lacks = |is_field: fn(&Tag<'_>) -> bool| {
            let has = |name: &str, text: &str| {
                tags.iter().filter(|tag| is_field(tag)).any(|tag| {
                    let is_other =
                        tag.text("type") == Some("hidden") && tag.text("value") != Some(&*escaped(text));
                    tag.text("name") == Some(name) && !is_other
                })
            };
            self.fields().iter().filter(|(name, text)| !has(name, text)).count()
        };
        Some((lacks(|_| true), lacks(|tag| tag.name != "button")))
    }
}

/// A form that is being filled in.
struct Filling<'f> {
    form: &'f SentForm,
    faults: &'f [FieldMessage],
    /// The ids of the fields of the faults, as far as they were met.
    fields: Vec<Option<String>>,
    /// The form as far as it is written.
    written: Vec<String>,
    /// The positions at which the `details` began that are open at this place.
    folded: Vec<usize>,
    /// The text of the select or text area around this place.
    chosen: Option<&'f str>,
    /// Whether a label is around this place: the errors of its field follow it.
    is_in_label: bool,
    is_in_text: bool,
    /// Errors that are written after the end of the field or its label.
    waiting: Vec<Markup>,
}

impl<'f> Filling<'f> {
    fn new(form: &'f SentForm, faults: &'f [FieldMessage]) -> Self {
        Self {
            form,
            faults,
            fields: vec![None; faults.len()],
            written: Vec::new(),
            folded: Vec::new(),
            chosen: None,
            is_in_label: false,
            is_in_text: false,
            waiting: Vec::new(),
        }
    }

    fn add(&mut self, piece: Piece<'_>) {
        let mut tag = match piece {
            Piece::Text(text) => {
                if !self.is_in_text {
                    self.written.push(text.to_owned());
                }
                return;
            }
            Piece::End(name) => {
                self.written.push(format!("</{name}>"));
                self.end(name);
                return;
            }
            Piece::Tag(tag) => tag,
        };
        match tag.name {
            "label" => self.is_in_label = true,
            "details" => self.folded.push(self.written.len()),
            "option" => {
                if let Some(chosen) = self.chosen {
                    tag.switch("selected", tag.text("value") == Some(&*escaped(chosen)));
                }
            }
            "input" => self.fill_input(&mut tag),
            "select" => {
                self.chosen = self.typed(&tag);
                self.mark(&mut tag);
            }
            "textarea" => {
                self.mark(&mut tag);
                self.written.push(tag.to_string());
                if let Some(text) = self.typed(&tag) {
                    self.written.push(escaped(text));
                    self.is_in_text = true;
                }
                return;
            }
            _ => {}
        }
        let is_input = tag.name == "input";
        self.written.push(tag.to_string());
        if is_input && !self.is_in_label {
            self.write_errors();
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "details" => drop(self.folded.pop()),
            "select" | "textarea" => {
                (self.chosen, self.is_in_text) = (None, false);
                if !self.is_in_label {
                    self.write_errors();
                }
            }
            "label" => {
                self.is_in_label = false;
                self.write_errors();
            }
            _ => {}
        }
    }

    fn write_errors(&mut self) {
        self.written.extend(self.waiting.drain(..).map(Markup::into_string));
    }

    /// Returns what was typed in a field, if it may be shown.
    fn typed(&self, tag: &Tag<'_>) -> Option<&'f str> {
        self.form.text(tag.text("name")?).filter(|text| !has_card_number(text))
    }

    fn fill_input(&mut self, tag: &mut Tag<'_>) {
        match tag.text("type").unwrap_or("text") {
            "hidden" => return,
            // What is secret, or cannot be filled in.
            "password" | "file" => {}
            // A form that sends nothing of a choice has not made it; a box that is not sent is empty.
            "radio" if self.typed(tag).is_none() => {}
            "checkbox" | "radio" => {
                let is_sent =
                    self.typed(tag).is_some_and(|text| escaped(text) == tag.text("value").unwrap_or("on"));
                tag.switch("checked", is_sent);
            }
            _ => {
                if let Some(text) = self.typed(tag) {
                    tag.set("value", escaped(text));
                }
            }
        }
        self.mark(tag);
    }

    /// Marks a field that has faults. Their texts follow it, and describe it.
    fn mark(&mut self, tag: &mut Tag<'_>) {
        let Some(name) = tag.text("name").map(|name| name.replace('[', ".").replace(']', "")) else { return };
        let is_first = self.fields.iter().all(Option::is_none);
        let of_field: Vec<_> = (0..self.faults.len())
            .filter(|n| self.fields[*n].is_none() && is_about(&self.faults[*n].param, &name))
            .collect();
        if of_field.is_empty() {
            return;
        }
        let id = tag.text("id").map_or_else(|| format!("refused-{}", name.replace('.', "-")), str::to_owned);
        let error = format!("error-{id}");
        let described =
            tag.text("aria-describedby").map_or_else(|| error.clone(), |others| format!("{others} {error}"));
        tag.set("id", id.clone());
        tag.set("aria-invalid", "true".to_owned());
        tag.set("aria-describedby", described);
        tag.switch("autofocus", is_first);
        let messages: Vec<_> = of_field.iter().map(|n| self.faults[*n].message.as_str()).collect();
        self.waiting.push(html! { p.fault id=(error) { (messages.join(". ")) } });
        for n in of_field {
            self.fields[n] = Some(id.clone());
        }
        for start in &self.folded {
            let folded = &mut self.written[*start];
            if !folded.ends_with(" open>") {
                folded.insert_str(folded.len() - 1, " open");
            }
        }
    }
}

/// Returns whether a fault is about a field: about its parameter, an item of it, or the whole of which it is a part.
fn is_about(param: &str, field: &str) -> bool {
    let param = param.split('[').next().unwrap_or_default();
    param == field || field.strip_prefix(param).is_some_and(|rest| rest.starts_with('.'))
}

fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

/// Returns what a response refuses, and its status, if the sender of the form can mend it.
pub fn refusal_of(answer: &Response) -> Option<(StatusCode, Refusal)> {
    let status = answer.status();
    let is_mendable = status.is_client_error()
        && ![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS]
            .contains(&status);
    let refusal = answer.extensions().get::<Refusal>().filter(|_| is_mendable)?;
    Some((status, refusal.clone()))
}

impl Pages {
    /// Returns the page of a refused form once more, with its errors; `None` if the form names no page that its user may see.
    pub async fn show_again(
        &self,
        user: &AccountSession,
        form: &SentForm,
        (status, refusal): (StatusCode, Refusal),
    ) -> Option<Response> {
        // As the router reads it: the path that needs the right is the one that is shown.
        let address: Uri = form.page()?.parse().ok()?;
        auth::require_right(&user.account, address.path(), &Method::GET).ok()?;
        let mut user = user.clone();
        user.session.page = address.to_string();
        let request = Request::get(address).extension(user).body(Body::empty()).ok()?;
        let Ok(mut page) = self.0.clone().oneshot(request).await;
        let page = page.extensions_mut().remove::<PageContent>().filter(|page| page.status().is_success())?;
        Some(form.shown_on(page, &refusal).with(status).into_response())
    }
}
