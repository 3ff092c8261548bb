import type { ApiRequest } from '../shared/api/request.ts';
import { type ApiResponse, errorResponse } from '../shared/api/response.ts';
import { notFound } from '../shared/domain/errors.ts';

/** The `$default` route: an unknown path or method is 404 in the shape of every other error. */
export const handler = async ({ requestContext }: ApiRequest): Promise<ApiResponse> =>
  errorResponse(notFound('The resource'), requestContext.requestId);
