<?php

namespace CardPayments\Client;

/**
 * The event of a webhook. Its class tells which record its data are: those of a `Model\ChargeCapturedEvent` are a `Model\Charge`. A
 * `Model\Event` is of a type that is newer than this client.
 */
interface WebhookEvent
{
    /** @return string */
    public function getToken();

    /** @return string */
    public function getType();

    /** @return \DateTime */
    public function getCreatedAt();

    /** @return int|null */
    public function getSequence();
}
