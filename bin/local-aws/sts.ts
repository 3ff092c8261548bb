import { type AwsService, escapeXml, LOCAL_ENV, xmlFault } from './aws-service.ts';

/** Creates AWS STS with its query protocol: `GetCallerIdentity`. The caller is an IAM user named after its access key. */
export const stsService: AwsService = ({ action, caller }) => {
  if (action !== 'GetCallerIdentity') {
    const message = `The local STS does not support the action ${action}.`;
    return xmlFault({ status: 400, type: 'InvalidAction', message });
  }
  const user = escapeXml(caller);
  const { account } = LOCAL_ENV;
  return {
    status: 200,
    headers: { 'content-type': 'text/xml' },
    body: `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:iam::${account}:user/${user}</Arn><UserId>${user}</UserId><Account>${account}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`,
  };
};
