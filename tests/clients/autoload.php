<?php
// What Composer would write: Debian's Guzzle, and the client by its name space.
require_once 'GuzzleHttp/autoload.php';
require_once 'GuzzleHttp/Psr7/autoload.php';
spl_autoload_register(function (string $class): void {
    $prefix = 'OpenAPI\\Client\\';
    if (str_starts_with($class, $prefix)) {
        require_once 'client/lib/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
    }
});
