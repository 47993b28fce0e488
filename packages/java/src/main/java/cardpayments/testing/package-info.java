/** A card payments server for tests, and accounts of it that nothing else uses. */
package cardpayments.testing;
