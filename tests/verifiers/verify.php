<?php
// A folder with a file for each event that was processed; in production, a unique column of your database.
$seen = getenv("WEBHOOK_SEEN") ?: sys_get_temp_dir() . "/webhooks-seen";

function is_genuine(string $body, string $id, string $time, string $signatures): bool
{
    $key = base64_decode(substr((string) getenv("WEBHOOK_KEY"), strlen("whsec_")));
    if ($key === "") {
        throw new RuntimeException("WEBHOOK_KEY is the key of no endpoint");
    }
    $own = base64_encode(hash_hmac("sha256", "$id.$time.$body", $key, true));
    $genuine = false;
    foreach (explode(" ", $signatures) as $signature) {
        // In constant time: how long it takes says nothing about the right signature.
        $genuine = hash_equals("v1,$own", $signature) || $genuine;
    }
    return $genuine && ctype_digit($time) && abs(time() - (int) $time) <= 300;
}

$body = file_get_contents("php://input");
$id = $_SERVER["HTTP_WEBHOOK_ID"] ?? "";
$time = $_SERVER["HTTP_WEBHOOK_TIMESTAMP"] ?? "";
if (!is_genuine($body, $id, $time, $_SERVER["HTTP_WEBHOOK_SIGNATURE"] ?? "")) {
    http_response_code(400);
    exit;
}
@mkdir($seen);
// The mode x fails where the file exists: of two deliveries of an event one is processed.
if (@fopen("$seen/$id", "x")) {
    $event = json_decode($body, true);
    error_log("{$event["token"]} {$event["type"]}");
} elseif (!file_exists("$seen/$id")) {
    // It cannot be written: the server sends the event again.
    http_response_code(500);
    exit;
}
http_response_code(204);
