//! The generators whose clients are tried, one a row, and a test for each row. `make` is what docs/clients.md shows and is run as
//! it stands; `compile` and `flow` come after it in one shell of bash, which knows `$site`, the Python packages of the
//! generators, and `$jar`, the archive of openapi-generator.

use super::NameKind::{Operations, Schemas, Tags};
use super::{Generator, Typed, holds};

/// The rows, and a test of each one's name.
macro_rules! generators {
    ($($name:ident: $generator:expr;)*) => {
        pub const GENERATORS: &[Generator] = &[$($generator),*];

        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            holds(stringify!($name), &$generator).await;
        })*
    };
}

const OPENAPI_GENERATOR: Generator = Generator {
    package: "openapi-generator-cli",
    tool: "openapi-generator",
    language: "",
    make: "",
    environment: "",
    proof: "compiled",
    compile: "",
    flow: "",
    events: Typed::Unread,
    refusals: Typed::Unread,
    holds: &[],
    lacks: &[],
    needs: &["/usr/bin/java"],
    long: false,
};
const NPM: Generator = Generator { proof: "type-checked", needs: &[], ..OPENAPI_GENERATOR };
const PYTHON: Generator =
    Generator { language: "Python", proof: "imported", needs: &[], ..OPENAPI_GENERATOR };

/// A row whose flow is that of calls.ts.
macro_rules! calls {
    ($name:literal) => {
        Generator {
            compile: concat!(
                "npx tsc --strict --module commonjs --target es2022 --lib es2022,dom,dom.iterable --types node --skipLibCheck \
                    --outDir built $(find client -name '*.ts') ",
                $name,
                ".ts
                echo '{}' >built/package.json"
            ),
            flow: concat!("node built/", $name, ".js"),
            events: Typed::ByType,
            refusals: Typed::BySchema,
            ..NPM
        }
    };
}

generators! {
    go: Generator {
        language: "Go",
        // By default a client in Go refuses what a later version adds.
        make: "openapi-generator-cli generate -g go -i openapi.yaml -o client \
               --additional-properties=disallowAdditionalPropertiesIfNotPresent=false,enumClassPrefix=true",
        // Debian's packages of Go lie in a GOPATH.
        environment: "export GO111MODULE=off GOPATH=$PWD:/usr/share/gocode",
        compile: "mkdir src; ln -s ../client src/client; go vet client",
        flow: "go run flow.go",
        events: Typed::BySchema,
        refusals: Typed::ByCall,
        holds: &[(Operations, "APIService) {Pascal}("), (Tags, "/api_{snake}.go\n")],
        needs: &["/usr/bin/go", "/usr/share/gocode/src/gopkg.in/validator.v2"],
        long: true,
        ..OPENAPI_GENERATOR
    };
    typescript: Generator {
        package: "openapi-typescript",
        tool: "openapi-typescript, openapi-fetch",
        language: "TypeScript",
        make: "npx openapi-typescript openapi.yaml -o client/api.d.ts",
        compile: "npx tsc --strict --noUncheckedIndexedAccess --module nodenext --target es2022 flow.ts",
        flow: "node flow.js",
        events: Typed::ByType,
        refusals: Typed::ByCall,
        holds: &[(Operations, "\n    {snake}: {"), (Schemas, "\n        {name}: ")],
        ..NPM
    };
    hey_api: Generator {
        package: "@hey-api/openapi-ts",
        tool: "hey-api",
        language: "TypeScript",
        make: "npx openapi-ts -i openapi.yaml -o client",
        holds: &[(Operations, "export const {camel} = <")],
        refusals: Typed::ByCall,
        ..calls!("hey_api")
    };
    orval_fetch: Generator {
        package: "orval",
        tool: "orval",
        language: "TypeScript, fetch",
        // Of two types of bodies it sends neither's name.
        make: "card-payments openapi --json-bodies >json-bodies.yaml && \
               npx orval --input json-bodies.yaml --output client --client fetch --mode tags",
        refusals: Typed::ByCall,
        holds: &[(Operations, "export const {camel} = "), (Tags, "/{kebab}.ts\n")],
        ..calls!("orval")
    };
    orval_axios: Generator {
        package: "orval",
        tool: "orval",
        language: "TypeScript, axios",
        make: "card-payments openapi --json-bodies >json-bodies.yaml && \
               npx orval --input json-bodies.yaml --output client --client axios --mode tags",
        holds: &[(Operations, "const {camel} = "), (Tags, "/{kebab}.ts\n")],
        ..calls!("orval_axios")
    };
    swagger_typescript_api: Generator {
        package: "swagger-typescript-api",
        tool: "swagger-typescript-api",
        language: "TypeScript",
        make: "npx swagger-typescript-api generate -p openapi.yaml -o client -n api.ts",
        holds: &[(Operations, "\n    {camel}: (")],
        ..calls!("swagger_typescript_api")
    };
    zodios: Generator {
        package: "openapi-zod-client",
        tool: "openapi-zod-client, zodios",
        language: "TypeScript",
        make: "mkdir client && npx openapi-zod-client openapi.yaml -o client/api.ts --export-schemas --with-alias",
        refusals: Typed::ByCall,
        holds: &[(Operations, "alias: \"{snake}\"")],
        ..calls!("zodios")
    };
    typescript_fetch: Generator {
        language: "TypeScript, fetch",
        make: "openapi-generator-cli generate -g typescript-fetch -i openapi.yaml -o client",
        holds: &[(Operations, "async {camel}("), (Tags, "/{Pascal}Api.ts\n")],
        package: OPENAPI_GENERATOR.package,
        tool: OPENAPI_GENERATOR.tool,
        needs: OPENAPI_GENERATOR.needs,
        ..calls!("typescript_fetch")
    };
    typescript_axios: Generator {
        language: "TypeScript, axios",
        make: "openapi-generator-cli generate -g typescript-axios -i openapi.yaml -o client \
               --additional-properties=useSingleRequestParameter=true",
        holds: &[(Operations, "public {camel}("), (Tags, "export class {Pascal}Api ")],
        package: OPENAPI_GENERATOR.package,
        tool: OPENAPI_GENERATOR.tool,
        needs: OPENAPI_GENERATOR.needs,
        ..calls!("typescript_axios")
    };
    python: Generator {
        package: "openapi-python-client",
        tool: "openapi-python-client",
        // It tells a form from JSON by the class of the body, and both have one class.
        make: "card-payments openapi --json-bodies >json-bodies.yaml && \
               openapi-python-client generate --path json-bodies.yaml --output-path client --meta none --overwrite --fail-on-warning",
        compile: "python load.py client",
        flow: "python flow.py",
        events: Typed::BySchema,
        refusals: Typed::ByCall,
        holds: &[(Operations, "/{snake}.py\n"), (Tags, "/api/{snake}/__init__.py\n")],
        ..PYTHON
    };
    python_openapi_generator: Generator {
        language: "Python",
        make: "openapi-generator-cli generate -g python -i openapi.yaml -o client",
        proof: "imported",
        environment: "export PYTHONPATH=client",
        compile: "cd client; python ../load.py openapi_client",
        flow: "python generated.py",
        events: Typed::BySchema,
        refusals: Typed::ByCall,
        holds: &[(Operations, "def {snake}("), (Tags, "/{snake}_api.py\n")],
        ..OPENAPI_GENERATOR
    };
    datamodel_code_generator: Generator {
        package: "datamodel-code-generator",
        tool: "datamodel-code-generator",
        language: "Python, models only",
        make: "datamodel-codegen --input openapi.yaml --input-file-type openapi --formatters builtin \
               --output-model-type pydantic_v2.BaseModel --output client/models.py",
        compile: "cd client; python ../load.py models",
        holds: &[(Schemas, "\nclass {name}(")],
        ..PYTHON
    };
    java: Generator {
        language: "Java",
        // A parameter that joins an operation is one more of its request, not one more argument. Every object of Java has a `wait`.
        make: "openapi-generator-cli generate -g java --library native -i openapi.yaml -o client \
               --additional-properties=openApiNullable=false,useJakartaEe=false,useSingleRequestParameter=true \
               --parameter-name-mappings wait=waitSeconds",
        // Jackson is in the generator's own archive, the rest are packages of Debian.
        environment: "jars=${JARS:-/usr/share/java}
            export CLASSPATH=classes:$jar:$jars/httpclient.jar:$jars/httpcore.jar:$jars/httpmime.jar
            CLASSPATH+=:$jars/geronimo-annotation-1.3-spec.jar",
        compile: "mkdir classes
            find client/src/main -name '*.java' >sources
            javac -nowarn -proc:none -d classes @sources Flow.java",
        flow: "java Flow",
        events: Typed::BySchema,
        refusals: Typed::BySchema,
        holds: &[(Operations, " {camel}("), (Tags, "/{Pascal}Api.java\n")],
        needs: &["/usr/bin/javac", "/usr/share/java/httpmime.jar"],
        long: true,
        ..OPENAPI_GENERATOR
    };
    rust: Generator {
        language: "Rust",
        make: "openapi-generator-cli generate -g rust -i openapi.yaml -o client \
               --additional-properties=packageName=client,useSingleRequestParameter=true && \
               sed -i 's/models::models::/models::/' client/src/apis/*.rs",
        compile: "cargo build --quiet --locked --manifest-path rust/Cargo.toml --target-dir ../rust-target",
        flow: "../rust-target/debug/flow",
        events: Typed::BySchema,
        refusals: Typed::ByCall,
        holds: &[(Operations, "pub async fn {snake}("), (Tags, "/{snake}_api.rs\n")],
        // An HTTP client with all that it needs is compiled.
        long: true,
        ..OPENAPI_GENERATOR
    };
    ruby: Generator {
        language: "Ruby",
        make: "openapi-generator-cli generate -g ruby -i openapi.yaml -o client",
        proof: "loaded",
        compile: "ruby -W0 -Iclient/lib -ropenapi_client -e 'OpenapiClient.constants.each { OpenapiClient.const_get(_1) }'",
        flow: "ruby -W0 -Iclient/lib flow.rb",
        events: Typed::BySchema,
        refusals: Typed::BySchema,
        holds: &[(Operations, "def {snake}("), (Tags, "/{snake}_api.rb\n")],
        needs: &["/usr/bin/java", "/usr/bin/ruby"],
        long: true,
        ..OPENAPI_GENERATOR
    };
    php: Generator {
        language: "PHP",
        make: "openapi-generator-cli generate -g php -i openapi.yaml -o client",
        proof: "loaded",
        compile: "php load.php",
        flow: "php flow.php",
        events: Typed::BySchema,
        refusals: Typed::ByCall,
        holds: &[(Operations, "public function {camel}("), (Tags, "/{Pascal}Api.php\n")],
        needs: &["/usr/bin/java", "/usr/bin/php", "/usr/share/php/GuzzleHttp/autoload.php"],
        long: true,
        ..OPENAPI_GENERATOR
    };
    nswag: Generator {
        package: "nswag",
        tool: "NSwag",
        language: "C#",
        // It knows OpenAPI 3.0 best. By default it sends 0 and false for numbers and flags that are left out: a charge would only be
        // authorised. Mono runs its build for the older .NET.
        make: "card-payments openapi --json --edition 3.0 >openapi.json && \
               mono node_modules/nswag/bin/binaries/Win/NSwag.exe openapi2csclient /input:openapi.json /output:client/Client.cs \
               /namespace:CardPayments /className:Client /operationGenerationMode:SingleClientFromOperationId \
               /generateOptionalParameters:true /generateOptionalPropertiesAsNullable:true",
        compile: "cp node_modules/nswag/bin/binaries/Win/Newtonsoft.Json.dll .
            mcs -nowarn:1591,1635 -out:flow.exe client/Client.cs Flow.cs \
                -r:System.Net.Http,System.ComponentModel.DataAnnotations,System.Runtime.Serialization,Newtonsoft.Json.dll \
                -r:Facades/netstandard.dll",
        flow: "mono flow.exe",
        events: Typed::BySchema,
        refusals: Typed::ByCall,
        holds: &[(Operations, " {Snake}Async(")],
        needs: &["/usr/lib/mono/4.5/Facades/netstandard.dll"],
        ..OPENAPI_GENERATOR
    };
    csharp: Generator {
        language: "C#",
        make: "openapi-generator-cli generate -g csharp -i openapi.yaml -o client",
        proof: "read by its grammar",
        compile: "python read.py client/src",
        holds: &[(Operations, "> {Pascal}Async("), (Tags, "/{Pascal}Api.cs\n")],
        long: true,
        ..OPENAPI_GENERATOR
    };
    swift: Generator {
        language: "Swift",
        make: "openapi-generator-cli generate -g swift6 -i openapi.yaml -o client",
        proof: "read by its grammar",
        // The grammar lags behind in what is the same for every document.
        compile: "for part in APIs Models; do python read.py client/Sources/OpenAPIClient/$part; done",
        holds: &[(Operations, "func {camel}("), (Tags, "/{Pascal}API.swift\n")],
        long: true,
        ..OPENAPI_GENERATOR
    };
    dart: Generator {
        language: "Dart",
        make: "openapi-generator-cli generate -g dart -i openapi.yaml -o client",
        proof: "read by its grammar",
        compile: "python read.py client/lib",
        holds: &[(Operations, "> {camel}("), (Tags, "/{snake}_api.dart\n")],
        long: true,
        ..OPENAPI_GENERATOR
    };
    kotlin: Generator {
        language: "Kotlin",
        make: "openapi-generator-cli generate -g kotlin -i openapi.yaml -o client --additional-properties=serializationLibrary=jackson",
        // What the calls are built on is in none of the registries that the compiler comes from.
        proof: "its models compiled",
        compile: "java -cp \"$site/run_kotlin_kernel/jars/*\" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect -nowarn \
                  -classpath \"$jar:$(echo \"$site\"/run_kotlin_kernel/jars/kotlin-stdlib-*.jar)\" -d classes \
                  client/src/main/kotlin/org/openapitools/client/models",
        holds: &[(Operations, "fun {camel}("), (Tags, "/{Pascal}Api.kt\n")],
        long: true,
        ..OPENAPI_GENERATOR
    };
    progenitor: Generator {
        package: "cargo-progenitor",
        tool: "progenitor",
        language: "Rust",
        // It reads OpenAPI 3.0, and less of it than there is.
        make: "card-payments openapi --json --json-bodies --edition 3.0 >openapi.json && \
               jq -f progenitor.jq openapi.json >reduced.json && \
               cargo progenitor -i reduced.json -o client -n client -v 0.1.0",
        compile: "cargo check --quiet --locked --manifest-path progenitor/Cargo.toml --target-dir ../progenitor-target",
        holds: &[(Operations, "pub async fn {snake}<")],
        lacks: &["create_file"],
        needs: &[],
        long: true,
        ..OPENAPI_GENERATOR
    };
}
