package cardpayments.client;

import java.util.List;

/** A page of a list. */
public interface Page<T> {
    List<T> getResponse();

    Position getPagination();
}
