/** The settings (CDK context) that make the declared stack run on one machine; what the user gives wins. */
export function localSettings(options: {
  settings: Record<string, string>;
  strictEgress: boolean;
  inboxUrl: string;
}): Record<string, string> {
  return {
    linkScheme: 'http',
    // Workers are threads here: enough for a function to race with itself, few enough for a small machine.
    senderConcurrency: '8',
    senderConcurrencyByType: 'webhook=64,incidentpager=16,incidentrouter=16',
    dispatchConcurrency: '4',
    pagerEndpoint: `${options.inboxUrl}/pager`,
    routerEndpoint: `${options.inboxUrl}/router`,
    feedEndpoint: `${options.inboxUrl}/feed`,
    ...(options.strictEgress ? {} : { egressAllow: '127.0.0.0/8,::1/128' }),
    ...options.settings,
  };
}
