import type * as z from 'zod/mini';
import { describeIssues } from '../../shared/contracts/text.ts';

/** What a client is told about a body that was refused; undefined for one that was accepted. */
export const refusal = (result: z.core.util.SafeParseResult<unknown>): string | undefined =>
  result.success ? undefined : describeIssues(result.error);
