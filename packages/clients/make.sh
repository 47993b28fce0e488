#!/usr/bin/env bash
# Makes the clients to publish: packages/clients/make.sh [LANGUAGE...], each in target/clients/packages/LANGUAGE: what a generator makes
# of openapi.yaml, what is written by hand in packages/clients/LANGUAGE, the licence and the project's version. The generators are those
# of .ci/run (docs/clients.md); CARGO_TARGET_DIR moves target.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

here=$PWD/packages/clients
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/clients
tools=$built/tools/bin
packages=$built/packages
document=$packages/openapi.json
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)

[ -x "$tools/openapi-python-client" ] && [ -d tests/clients/node_modules ] ||
    { echo 'error: there are no generators: .ci/run installs them, see install_clients' >&2; exit 1; }

# Runs a generator, which is quiet if it succeeds.
quietly() {
    "$@" >"$packages/generator.log" 2>&1 || { cat "$packages/generator.log" >&2; exit 1; }
}

# The client of openapi-generator in a folder, with its properties and options; without tests and pages of each class.
openapi_generator() {
    JAVA_TOOL_OPTIONS='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' PATH=$tools:$PATH quietly openapi-generator-cli generate -g "$1" -i "$document" -o "$2" \
        --global-property=apis,models,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false \
        --additional-properties="hideGenerationTimestamp=true,$3" "${@:4}"
}

# The events that the verifier of webhooks knows, as a source of this language.
known_events() {
    "$tools/python" "$here/events.py" "$document" "$language" >"$1"
}

# A hand-written manifest with the version of the project.
manifest() {
    sed "s/0\.0\.0/$version/" "$here/$language/$1" >"$folder/$1"
}

python() {
    local package=$folder/card_payments_client
    PATH=$tools:$PATH quietly openapi-python-client generate --path "$document" --output-path "$package" --meta none --overwrite --fail-on-warning
    cp "$here"/python/src/*.py "$package"
    sed -i 's/httpx.TimeoutException: If the request takes longer than Client.timeout./NoResponse: If there is no response, also after repeating./' "$package"/api/*/*.py
    known_events "$package/known_events.py"
    touch "$package/py.typed"
    manifest pyproject.toml
}

typescript() {
    cp -R "$here"/typescript/{src,tsconfig.json} "$folder"
    ln -s "$PWD/tests/clients/node_modules" "$folder/node_modules"
    quietly tests/clients/node_modules/.bin/openapi-typescript "$document" -o "$folder/src/api.ts"
    # Of each operation its method and path.
    jq -r '[.paths | to_entries[] | .key as $path | .value | to_entries[] | select(.value.operationId?)
        | { (.value.operationId): [.key, $path] }] | add | "export const routes = \(.) as const;"' "$document" >"$folder/src/routes.ts"
    manifest package.json
    quietly tests/clients/node_modules/.bin/tsc -p "$folder"
}

go() {
    # By default it refuses what a later version of the server adds.
    openapi_generator go "$folder" packageName=cardpaymentsclient,disallowAdditionalPropertiesIfNotPresent=false,enumClassPrefix=true
    rm -r "$folder"/{api,.openapi-generator,.openapi-generator-ignore,.travis.yml,.gitignore,git_push.sh,go.sum}
    find "$here/go" -name '*.go' -not -name '*_test.go' -exec cp -t "$folder" {} +
    known_events "$folder/known_events.go"
    manifest go.mod
}

java() {
    local sources=$folder/src/main/java/cardpayments/client
    openapi_generator java "$packages/java.generated" \
        library=native,openApiNullable=false,useJakartaEe=false,useSingleRequestParameter=true,invokerPackage=cardpayments.client,apiPackage=cardpayments.client.api,modelPackage=cardpayments.client.model \
        --parameter-name-mappings wait=waitSeconds
    mkdir -p "${sources%/*}"
    mv "$packages/java.generated/src/main/java/cardpayments/client" "$sources"
    rm -r "$packages/java.generated"
    cp "$here"/java/src/*.java "$sources"
    # The key that was sent is in the request of the response.
    sed -i 's/\(new ApiException(.*, response\)\.headers(), body)/\1, body)/' "$sources"/api/*.java
    known_events "$sources/KnownEvents.java"
    manifest pom.xml
}

ruby() {
    openapi_generator ruby "$packages/ruby.generated" "gemName=card_payments_client,moduleName=CardPaymentsClient,gemVersion=$version"
    mv "$packages/ruby.generated/lib" "$folder"
    rm -r "$packages/ruby.generated"
    cp "$here"/ruby/src/*.rb "$folder/lib/card_payments_client"
    printf "require 'card_payments_client/%s'\n" error client webhooks >>"$folder/lib/card_payments_client.rb"
    manifest card_payments_client.gemspec
}

php() {
    openapi_generator php "$packages/php.generated" 'invokerPackage=CardPayments\Client'
    mv "$packages/php.generated/lib" "$folder"
    rm -r "$packages/php.generated"
    cp "$here"/php/src/*.php "$folder/lib"
    known_events "$folder/lib/KnownEvents.php"
    # The generator has no interfaces of ours.
    sed -i 's/^class [A-Za-z]*Event implements /&\\CardPayments\\Client\\WebhookEvent, /' "$folder"/lib/Model/*Event.php
    manifest composer.json
}

rust() {
    openapi_generator rust "$packages/rust.generated" avoidBoxedModels=true,useSingleRequestParameter=true
    mv "$packages/rust.generated/src" "$folder"
    # The generator names the module twice where a form has a schema of its own.
    sed -i 's/models::models::/models::/' "$folder"/src/apis/*.rs
    rm -r "$packages/rust.generated" "$folder/src/apis/configuration.rs"
    cp "$here"/rust/src/*.rs "$folder/src"
    known_events "$folder/src/known_events.rs"
    "$tools/python" "$here/rust/thin.py" "$folder/src"
    manifest Cargo.toml
    manifest Cargo.lock
}

mkdir -p "$packages"
"$tools/python" "$here/document.py" openapi.yaml >"$document"
languages=("$@")
[ $# -gt 0 ] || languages=(python typescript go java ruby php rust)
for language in "${languages[@]}"; do
    folder=$packages/$language
    rm -rf "$folder"
    mkdir "$folder"
    "$language"
    cp "$here/$language/README.md" LICENSE "$folder"
done
