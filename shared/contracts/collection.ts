export const DEFAULT_PAGE_LIMIT = 50;
export const MAX_PAGE_LIMIT = 1000;

/** The rule of a marker as it follows its name in an error message. */
export const MARKER_RULE = 'must be the next_marker of a response';

/** `marker` is the ID of the first record, or in a delivery history that of the record before it; null at the start. */
export type Page = { limit: number; marker: string | null };

/** `next` is the marker of the next page, null for the last page. */
export type Slice<Record> = { values: Record[]; next: string | null };
