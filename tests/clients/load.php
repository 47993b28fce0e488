<?php
// Loads every file of the client.
require 'autoload.php';
foreach (new RecursiveIteratorIterator(new RecursiveDirectoryIterator('client/lib')) as $file) {
    if ($file->getExtension() === 'php') {
        require_once $file->getPathname();
    }
}
