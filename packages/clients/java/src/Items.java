package cardpayments.client;

import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.LongFunction;

/**
 * The items of all pages of a list, each page when it is reached: {@code Items.of(page ->
 * charges.listCharges(APIListChargesRequest.newBuilder().page(page).build()))}.
 */
public final class Items<T> implements Iterable<T> {
    private final LongFunction<? extends Page<T>> pages;

    private Items(LongFunction<? extends Page<T>> pages) {
        this.pages = pages;
    }

    /** The items of the pages that are got by their numbers, from 1. */
    public static <T> Items<T> of(LongFunction<? extends Page<T>> pages) {
        return new Items<>(pages);
    }

    @Override
    public Iterator<T> iterator() {
        return new Iterator<>() {
            private long number = 0;
            private boolean isLast = false;
            private Iterator<T> items = Collections.emptyIterator();

            @Override
            public boolean hasNext() {
                while (!items.hasNext() && !isLast) {
                    var page = pages.apply(++number);
                    items = page.getResponse().iterator();
                    isLast = number * page.getPagination().getPerPage() >= page.getPagination().getCount();
                }
                return items.hasNext();
            }

            @Override
            public T next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                return items.next();
            }
        };
    }
}
