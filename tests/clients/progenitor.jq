.components as $components
| .paths |= map_values(map_values(
    if type != "object" or (has("responses") | not) then .
    else
      .responses |= map_values(if has("$ref") then (.["$ref"] | split("/")[-1]) as $n | $components.responses[$n] else . end)
      | ([.responses | to_entries[] | select(.key | test("^[45]|default")) | .value.content["application/json"].schema] | unique) as $errors
      | if ($errors | length) > 1 then .responses |= with_entries(if .key | test("^[45]|default") then .value |= del(.content) else . end) else . end
    end)
    | with_entries(select(.value.requestBody.content["multipart/form-data"]? | not)))
| .paths |= with_entries(select(.value != {}))
