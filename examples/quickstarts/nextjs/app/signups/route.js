import { analytics } from "../../lib/analytics.js";

export async function POST(request) {
  const { userId, plan } = await request.json();
  analytics().track({ userId, event: "Signed Up", properties: { plan } });
  return Response.json({ userId }, { status: 201 });
}
