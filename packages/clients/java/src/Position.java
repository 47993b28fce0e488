package cardpayments.client;

/** Where a page is in its list. */
public interface Position {
    /** The records on all pages. */
    Long getCount();

    /** The records per page. */
    Long getPerPage();
}
