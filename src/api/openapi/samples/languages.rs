//! The call of an operation in each language. Names follow from the document's as the generators derive them.

use super::literals::{PHP, PYTHON, RUBY, TYPESCRIPT, literal, quoted, shell_quoted, single_quoted};
use super::{Body, Call};

/// A language's name, what the sample is labelled with, and what writes it.
pub(super) type Language = (&'static str, &'static str, fn(&Call<'_>) -> String);

/// The languages, with the one that also shows uploads first.
pub(super) const ALL: &[Language] = &[
    ("Shell", "curl", curl),
    ("TypeScript", "TypeScript", typescript),
    ("Python", "Python", python),
    ("PHP", "PHP", php),
    ("Go", "Go", go),
    ("Java", "Java", java),
    ("Ruby", "Ruby", ruby),
    ("C#", "C#", csharp),
];

/// Returns the words of a name: of an operation, a section or a schema.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_new = true;
    for letter in name.chars() {
        if letter == '_' || letter == ' ' {
            is_new = true;
            continue;
        }
        if is_new || letter.is_ascii_uppercase() {
            words.push(String::new());
        }
        is_new = false;
        if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words
}

fn snake(name: &str) -> String {
    words(name).join("_")
}

fn pascal(name: &str) -> String {
    words(name).iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

fn camel(name: &str) -> String {
    let name = pascal(name);
    name[..1].to_lowercase() + &name[1..]
}

/// Returns a section's words as one name, as generators write it.
fn section(call: &Call<'_>) -> String {
    pascal(call.section)
}

/// Returns the values of path and query in quotes.
fn values(call: &Call<'_>, quoted: fn(&str) -> String) -> Vec<String> {
    call.path_values.iter().chain(&call.query).map(|(_, value)| quoted(value)).collect()
}

/// Returns the path with its query.
fn target(call: &Call<'_>) -> String {
    let query: Vec<_> = call.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{}{mark}{}", call.path, query.join("&"))
}

fn curl(call: &Call<'_>) -> String {
    let mut lines = vec![format!("\"$CARD_PAYMENTS_URL{}\" -u \"$CARD_PAYMENTS_SECRET_KEY:\"", target(call))];
    if let Some(Body { value, .. }) = &call.body {
        lines.push("-H 'content-type: application/json'".to_owned());
        lines.push(format!("-d {}", shell_quoted(&value.to_string())));
    }
    for (name, value) in call.upload.into_iter().flatten() {
        let mark = if name == "file" { "@" } else { "" };
        let value = value.as_str().unwrap_or_default();
        lines.push(format!("-F {}", shell_quoted(&format!("{name}={mark}{value}"))));
    }
    let method = match (call.method, lines.len()) {
        ("get", _) | ("post", 2..) => String::new(),
        ("head", _) => " -I".to_owned(),
        (method, _) => format!(" -X {}", method.to_uppercase()),
    };
    format!("curl -s{method} {}\n", lines.join(" \\\n  "))
}

fn typescript(call: &Call<'_>) -> String {
    let mut given = Vec::new();
    for (name, values) in [("path", &call.path_values), ("query", &call.query)] {
        let values: Vec<_> =
            values.iter().map(|(name, value)| format!("{name}: {}", quoted(value))).collect();
        if !values.is_empty() {
            given.push(format!("{name}: {{ {} }}", values.join(", ")));
        }
    }
    if let Some(body) = &call.body {
        given.push(format!("body: {}", literal(body.value, &TYPESCRIPT, "  ")));
    }
    let given = match given.as_slice() {
        [] => String::new(),
        [one] if !one.contains('\n') => format!("{{ {one} }}"),
        many => format!("{{\n  {},\n}}", many.join(",\n  ")),
    };
    let call_of = format!("await client.{}({given})", camel(call.id));
    let shown = if call.has_answer { format!("console.log({call_of});") } else { format!("{call_of};") };
    format!(
        "import {{ connect }} from \"card-payments-client\";\n\n\
         const client = connect(process.env.CARD_PAYMENTS_URL!, process.env.CARD_PAYMENTS_SECRET_KEY!);\n{shown}\n"
    )
}

fn python(call: &Call<'_>) -> String {
    let operation = snake(call.id);
    let mut imports = format!(
        "import os\n\nfrom card_payments_client import connect\nfrom card_payments_client.api.{} import {operation}\n",
        snake(call.section)
    );
    let mut given: Vec<_> = call.path_values.iter().map(|(_, value)| quoted(value)).collect();
    given.push("client=client".to_owned());
    given.extend(call.query.iter().map(|(name, value)| format!("{name}={}", quoted(value))));
    let mut body = String::new();
    if let Some(Body { schema, value, .. }) = &call.body {
        imports = format!("{imports}from card_payments_client.models import {schema}\n");
        body = format!("body = {schema}.from_dict({})\n", literal(value, &PYTHON, ""));
        given.push("body=body".to_owned());
    }
    let form = if call.has_answer { "sync" } else { "sync_detailed" };
    let call_of = format!("{operation}.{form}({})", given.join(", "));
    let shown = if call.has_answer { format!("print({call_of})") } else { call_of };
    format!(
        "{imports}\nclient = connect(os.environ[\"CARD_PAYMENTS_URL\"], os.environ[\"CARD_PAYMENTS_SECRET_KEY\"])\n{body}{shown}\n"
    )
}

fn php(call: &Call<'_>) -> String {
    let mut given = values(call, single_quoted);
    let mut body = String::new();
    if let Some(Body { schema, value, is_required }) = &call.body {
        body = format!("$body = new Model\\{schema}({});\n", literal(value, &PHP, ""));
        given.push(if *is_required { "$body".to_owned() } else { format!("{}: $body", snake(schema)) });
    }
    let model = if body.is_empty() { "" } else { ", Model" };
    let echo = if call.has_answer { "echo " } else { "" };
    format!(
        "<?php\nrequire 'vendor/autoload.php';\n\nuse CardPayments\\Client\\{{Api, Client{model}}};\n\n\
         $client = new Client(getenv('CARD_PAYMENTS_URL'), getenv('CARD_PAYMENTS_SECRET_KEY'));\n{body}\
         {echo}$client->api(Api\\{}Api::class)->{}({});\n",
        section(call),
        camel(call.id),
        given.join(", ")
    )
}

fn go(call: &Call<'_>) -> String {
    let mut given = vec!["context.Background()".to_owned()];
    given.extend(call.path_values.iter().map(|(_, value)| quoted(value)));
    let mut chain = format!("client.{}API.{}({})", section(call), pascal(call.id), given.join(", "));
    for (name, value) in &call.query {
        chain = format!("{chain}.{}({})", pascal(name), quoted(value));
    }
    let (mut import, mut body) = ("", String::new());
    if let Some(Body { schema, value, .. }) = &call.body {
        import = "\t\"encoding/json\"\n";
        body = format!(
            "\tvar body cardpaymentsclient.{schema}\n\tif err := json.Unmarshal([]byte(`{value:#}`), &body); err != nil {{\n\t\tlog.Fatal(err)\n\t}}\n"
        );
        chain = format!("{chain}.{schema}(body)");
    }
    let (fmt, called) = if call.has_answer {
        let called = format!(
            "\tanswer, err := cardpaymentsclient.Result({chain}.Execute())\n\tif err != nil {{\n\t\tlog.Fatal(err)\n\t}}\n\tfmt.Printf(\"%+v\\n\", answer)\n"
        );
        ("\t\"fmt\"\n", called)
    } else {
        let called = format!(
            "\tif err := cardpaymentsclient.Done({chain}.Execute()); err != nil {{\n\t\tlog.Fatal(err)\n\t}}\n"
        );
        ("", called)
    };
    format!(
        "package main\n\nimport (\n\t\"context\"\n{import}{fmt}\t\"log\"\n\t\"os\"\n\n\t\"cardpaymentsclient\"\n)\n\n\
         func main() {{\n\tclient := cardpaymentsclient.Connect(os.Getenv(\"CARD_PAYMENTS_URL\"), os.Getenv(\"CARD_PAYMENTS_SECRET_KEY\"))\n{body}{called}}}\n"
    )
}

fn java(call: &Call<'_>) -> String {
    let (mut import, mut body) = (String::new(), String::new());
    let given = call.path_values.iter().chain(&call.query);
    let given: Vec<_> = given.map(|(name, value)| format!(".{}({})", camel(name), quoted(value))).collect();
    let mut request = given.concat();
    if let Some(Body { schema, value, .. }) = &call.body {
        import = format!("import cardpayments.client.model.{schema};\n");
        let text = format!("{value:#}").replace('\\', "\\\\").replace('\n', "\n                ");
        body = format!(
            "        var body = client.getObjectMapper().readValue(\"\"\"\n                {text}\"\"\", {schema}.class);\n"
        );
        request = format!("{request}.{}(body)", camel(schema));
    }
    let api = format!("{}Api", section(call));
    if call.has_parameters {
        request = format!("{api}.API{}Request.newBuilder(){request}.build()", pascal(call.id));
    }
    let call_of = format!("new {api}(client).{}({request})", camel(call.id));
    let shown =
        if call.has_answer { format!("System.out.println({call_of});") } else { format!("{call_of};") };
    format!(
        "import cardpayments.client.Client;\nimport cardpayments.client.api.{api};\n{import}\n\
         class Sample {{\n    public static void main(String[] arguments) throws Exception {{\n        \
         var client = new Client(System.getenv(\"CARD_PAYMENTS_URL\"), System.getenv(\"CARD_PAYMENTS_SECRET_KEY\"));\n{body}        {shown}\n    }}\n}}\n"
    )
}

fn ruby(call: &Call<'_>) -> String {
    let mut given = values(call, single_quoted);
    let mut body = String::new();
    if let Some(Body { schema, value, is_required }) = &call.body {
        body = format!("body = {schema}.build_from_hash({})\n", literal(value, &RUBY, ""));
        given.push(if *is_required { "body".to_owned() } else { format!("{}: body", snake(schema)) });
    }
    let given = if given.is_empty() { String::new() } else { format!("({})", given.join(", ")) };
    let show = if call.has_answer { "p " } else { "" };
    format!(
        "require 'card_payments_client'\ninclude CardPaymentsClient\n\n\
         client = Client.new(ENV.fetch('CARD_PAYMENTS_URL'), ENV.fetch('CARD_PAYMENTS_SECRET_KEY'))\n{body}\
         {show}client.{}.{}{given}\n",
        snake(call.section),
        snake(call.id)
    )
}

/// No client is published for C#, so this is what every program has.
fn csharp(call: &Call<'_>) -> String {
    let mut content = String::new();
    if let Some(body) = &call.body {
        let text = format!("{:#}", body.value).replace('"', "\"\"");
        content = format!(
            "        request.Content = new StringContent(@\"{text}\", Encoding.UTF8, \"application/json\");\n"
        );
    }
    format!(
        "using System;\nusing System.Net.Http;\nusing System.Net.Http.Headers;\nusing System.Text;\nusing System.Threading.Tasks;\n\n\
         class Sample\n{{\n    public static async Task Main()\n    {{\n        \
         var url = Environment.GetEnvironmentVariable(\"CARD_PAYMENTS_URL\");\n        \
         var key = Environment.GetEnvironmentVariable(\"CARD_PAYMENTS_SECRET_KEY\") + \":\";\n        \
         var request = new HttpRequestMessage(HttpMethod.{}, url + {});\n        \
         request.Headers.Authorization = new AuthenticationHeaderValue(\"Basic\", Convert.ToBase64String(Encoding.UTF8.GetBytes(key)));\n\
         {content}        var response = await new HttpClient().SendAsync(request);\n        \
         Console.WriteLine((int)response.StatusCode + \" \" + await response.Content.ReadAsStringAsync());\n    }}\n}}\n",
        pascal(call.method),
        quoted(&target(call)),
    )
}
