/** Number of records on a page if the request has no `limit`. */
export const DEFAULT_PAGE_LIMIT = 50;

/** Maximum `limit` of a page. */
export const MAX_PAGE_LIMIT = 1000;

/** The rule of a marker as it follows its name in an error message. */
export const MARKER_RULE = 'must be the next_marker of a response';

/**
 * A requested page. `marker` is the ID of its first record, or in a delivery history the marker of the record before
 * it. It is null for the first page.
 */
export type Page = { limit: number; marker: string | null };

/** The records of a page, and the marker of the next page, or null for the last page. */
export type Slice<Record> = { values: Record[]; next: string | null };
