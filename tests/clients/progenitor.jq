# null as one of several shapes is `nullable` in 3.0
walk(if type == "object" and (.oneOf | type) == "array" and any(.oneOf[]; .type? == "null")
  then (.oneOf | map(select(.type? != "null"))) as $left
    | if ($left | length) == 1 then del(.oneOf) + {allOf: ($left | map(if has("$ref") then {"$ref"} else . end)), nullable: true}
      else .oneOf = $left | .nullable = true end
  else . end)
| .components as $components
| .paths |= map_values(map_values(
    if type != "object" or (has("responses") | not) then .
    else
      (if .requestBody.content? then .requestBody.content |= (if has("application/json") then {"application/json"} else . end) else . end)
      | .responses |= map_values(if has("$ref") then (.["$ref"] | split("/")[-1]) as $n | $components.responses[$n] else . end)
      | ([.responses | to_entries[] | select(.key | test("^[45]|default")) | .value.content["application/json"].schema] | unique) as $errors
      | if ($errors | length) > 1 then .responses |= with_entries(if .key | test("^[45]|default") then .value |= del(.content) else . end) else . end
    end)
    | with_entries(select(.value.requestBody.content["multipart/form-data"]? | not)))
| .paths |= with_entries(select(.value != {}))
