<?php
// What Composer would write: Debian's Guzzle, and the client by its name space.
require_once 'GuzzleHttp/autoload.php';
require_once 'GuzzleHttp/Psr7/autoload.php';
spl_autoload_register(function (string $class): void {
    $prefix = 'CardPayments\\Client\\';
    if (str_starts_with($class, $prefix)) {
        require_once getenv('PACKAGE') . '/lib/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
    }
});
