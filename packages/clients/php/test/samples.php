<?php
// Runs the code samples in a folder: samples.php FOLDER. Their tokens are examples, so the server refuses many; it must have read them.
use CardPayments\Client\ApiError;

require 'vendor/autoload.php';

$samples = glob("$argv[1]/*.php");
foreach ($samples as $file) {
    ob_start();
    try {
        (static fn () => require $file)();
    } catch (ApiError $refused) {
        if (in_array($refused->status, [405, 415], true) || $refused->status >= 500 || $refused->errorCode === 'bad_request') {
            throw $refused;
        }
    } finally {
        ob_end_clean();
    }
}
printf("%d samples passed\n", count($samples));
