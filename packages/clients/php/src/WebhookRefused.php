<?php

namespace CardPayments\Client;

/** The webhook is not of the server, or too old. */
final class WebhookRefused extends \RuntimeException
{
}
