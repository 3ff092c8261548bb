import type * as z from 'zod/mini';
import { describeIssues } from '../../shared/contracts/text.ts';

/** Returns the error details for a rejected body, or undefined for an accepted one. */
export const rejectionDetails = (result: z.core.util.SafeParseResult<unknown>): string | undefined =>
  result.success ? undefined : describeIssues(result.error);
