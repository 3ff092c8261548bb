import type { ApiRequest } from '../shared/api/request.ts';
import { type ApiResponse, errorResponse } from '../shared/api/response.ts';
import { notFound } from '../shared/domain/errors.ts';

/** The `$default` route: 404 for unknown paths and methods. */
export const handler = async ({ requestContext }: ApiRequest): Promise<ApiResponse> =>
  errorResponse(notFound('The resource'), requestContext.requestId);
