import type { Answer } from '../shared/adapters/http-api/answer.ts';
import { errorAnswer } from '../shared/adapters/http-api/errors.ts';
import type { ApiRequest } from '../shared/adapters/http-api/request.ts';
import { notFound } from '../shared/domain/errors.ts';

/** The `$default` route: an unknown path or method is 404 in the shape of every other error. */
export const handler = async ({ requestContext }: ApiRequest): Promise<Answer> =>
  errorAnswer(notFound('The resource'), requestContext.requestId);
