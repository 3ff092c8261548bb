/** One request to the API, as the metrics of CloudWatch (`AWS/ApiGateway`) count it. */
export type RequestReport = {
  /** The key of the route that matched (`GET /things/{id}`), or undefined where none did. */
  routeKey: string | undefined;
  status: number;
  /** From the request line until the response was written, in milliseconds of real time. */
  latencyMs: number;
};
