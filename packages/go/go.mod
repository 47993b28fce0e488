module cardpayments

go 1.19
