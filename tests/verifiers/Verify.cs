using System;
using System.Collections.Concurrent;
using System.IO;
using System.Linq;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Threading;

static class Verify
{
    static readonly byte[] Key =
        Convert.FromBase64String(Environment.GetEnvironmentVariable("WEBHOOK_KEY").Substring("whsec_".Length));
    // The ids of the events that were processed; in production, a unique column of your database.
    static readonly ConcurrentDictionary<string, bool> Seen = new ConcurrentDictionary<string, bool>();

    // In constant time: how long it takes says nothing about the right signature.
    static bool AreEqual(string own, string given)
    {
        var difference = own.Length ^ given.Length;
        for (var i = 0; i < Math.Min(own.Length, given.Length); i++) difference |= own[i] ^ given[i];
        return difference == 0;
    }

    static bool IsGenuine(byte[] body, string id, string time, string signatures)
    {
        long seconds;
        if (id == null || signatures == null || !long.TryParse(time, out seconds)) return false;
        if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - (decimal)seconds) > 300) return false;
        var signed = Encoding.UTF8.GetBytes(id + "." + time + ".").Concat(body).ToArray();
        using (var hmac = new HMACSHA256(Key))
        {
            var own = "v1," + Convert.ToBase64String(hmac.ComputeHash(signed));
            return signatures.Split(' ').Count(given => AreEqual(own, given)) > 0;
        }
    }

    static void Receive(HttpListenerContext context)
    {
        try
        {
            var body = new MemoryStream();
            context.Request.InputStream.CopyTo(body);
            var (head, id) = (context.Request.Headers, context.Request.Headers["webhook-id"]);
            var genuine = IsGenuine(body.ToArray(), id, head["webhook-timestamp"], head["webhook-signature"]);
            if (genuine && Seen.TryAdd(id, true)) Console.WriteLine(Encoding.UTF8.GetString(body.ToArray()));
            context.Response.StatusCode = genuine ? 204 : 400;
            context.Response.Close();
        }
        catch (Exception error)
        {
            // The sender is gone.
            Console.Error.WriteLine(error.Message);
            context.Response.Abort();
        }
    }

    static void Main()
    {
        var port = Environment.GetEnvironmentVariable("PORT") ?? "9000";
        var address = "http://127.0.0.1:" + port;
        var listener = new HttpListener();
        listener.Prefixes.Add(address + "/");
        listener.Start();
        Console.WriteLine("Listening on " + address);
        while (true)
        {
            var context = listener.GetContext();
            ThreadPool.QueueUserWorkItem(_ => Receive(context));
        }
    }
}
