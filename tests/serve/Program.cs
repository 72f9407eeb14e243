// What a program in C# sees of both backends; AWAIT_FOREACH is for compilers that know it.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Headrace;

public static class Program
{
    public static int Main(string[] words)
    {
        try
        {
            Run(words).GetAwaiter().GetResult();
            return 0;
        }
        catch (DeltaScanException error)
        {
            Console.WriteLine("error " + error.Code);
            return 1;
        }
    }

    private static async Task Run(string[] words)
    {
        var backend = words[0];
        if (words[1] == "list")
        {
            foreach (var table in words.Skip(3))
            {
                await List(backend, words[2], table);
            }

            return;
        }

        var name = words[3];
        if (words[1] == "plan")
        {
            Plan(Open(backend, words[2]), name);
            return;
        }

        if (words[1] == "break")
        {
            var some = await All(Open(backend, words[2]).ScanFilesAsync(name), 3);
            Console.WriteLine("left after " + some.Count);
            Console.Out.Flush();
            Console.ReadLine();
            return;
        }

        var bern = new ScanOptions { PredicateJson = "{\"city\": \"Bern\"}", Limit = 100, Strategy = ScanStrategy.Auto };
        var scanner = Open(backend, words[2]);
        var files = await All(scanner.ScanFilesAsync(name, bern), int.MaxValue);
        Console.WriteLine("bern " + files.Count);
        Describe(files[0]);
        Console.WriteLine("limit " + (await All(scanner.ScanFilesAsync(name, new ScanOptions { Limit = 7 }), int.MaxValue)).Count);
        Console.WriteLine("broken off after " + (await All(scanner.ScanFilesAsync(name), 3)).Count);
        try
        {
            await All(scanner.ScanFilesAsync(name, new ScanOptions { PredicateJson = "{\"nope\": 1}" }), 1);
        }
        catch (DeltaScanException error)
        {
            Console.WriteLine("refused " + error.Code);
        }

        try
        {
            var two = new ScanOptions { PredicateJson = "{\"city\": \"Bern\"}, \"limit\": 1" };
            await All(scanner.ScanFilesAsync(name, two), 1);
        }
        catch (DeltaScanException error)
        {
            Console.WriteLine("refused " + error.Code);
        }

        try
        {
            var deep = new ScanOptions { PredicateJson = new string('[', 1000000) };
            await All(scanner.ScanFilesAsync(name, deep), 1);
        }
        catch (DeltaScanException error)
        {
            Console.WriteLine("refused " + error.Code);
        }

        var source = new CancellationTokenSource();
        source.Cancel();
        try
        {
            await All(scanner.ScanFilesAsync(name, null, source.Token), 1);
        }
        catch (OperationCanceledException)
        {
            Console.WriteLine("cancelled");
        }

        if (backend == "process")
        {
            Console.WriteLine("connector " + new DeltaLazyConnector().GetFiles(name, null, 5).Count());
            foreach (var path in new[] { name + "\0/elsewhere", name + "\ud800" })
            {
                try
                {
                    new DeltaLazyConnector().GetFiles(path, null, null);
                }
                catch (DeltaScanException error)
                {
                    Console.WriteLine("connector " + error.Code);
                }
            }
        }

        await scanner.DisposeAsync();
    }

    private static void Describe(DeltaFile file)
    {
        string path;
        long size;
        Dictionary<string, string> values;
        DateTime? time;
        file.Deconstruct(out path, out size, out values, out time); // mono's compiler lacks the syntax
        Console.WriteLine(size + " " + values["date"] + " " + values["city"] + " " + time.Value.ToString("yyyy-MM-dd"));
        var same = file.Equals(new DeltaFile(path, size, values, time));
        Console.WriteLine("equal " + same + " " + file.Equals(new DeltaFile(path, size + 1, values, time)));
    }

    private static void Plan(ILazyDeltaScanner scanner, string name)
    {
        var before = GC.GetTotalMemory(true);
        for (var scan = 0; scan < 50000; scan++)
        {
            scanner.ScanFilesAsync(name).GetAsyncEnumerator().DisposeAsync().AsTask().Wait();
        }

        Console.WriteLine("kept " + ((GC.GetTotalMemory(true) - before) >> 20) + " MB");
        scanner.Dispose();
    }

    private static ILazyDeltaScanner Open(string backend, string address)
    {
        return backend == "process" ? (ILazyDeltaScanner)new DeltaLazyScanner() : new DeltaFlightScanner(address);
    }

    private static async Task List(string backend, string address, string table)
    {
        using (var scanner = Open(backend, address))
        {
            Console.WriteLine("table " + table);
            try
            {
                foreach (var file in await All(scanner.ScanFilesAsync(table), int.MaxValue))
                {
                    Console.WriteLine(file.Size + "\t" + file.Path);
                }
            }
            catch (DeltaScanException error)
            {
                Console.WriteLine("refused " + error.Code);
            }
        }
    }

    private static async Task<List<DeltaFile>> All(IAsyncEnumerable<DeltaFile> files, int most)
    {
        var found = new List<DeltaFile>();
#if AWAIT_FOREACH
        await foreach (var file in files)
        {
            found.Add(file);
            if (found.Count == most)
            {
                break;
            }
        }
#else
        var each = files.GetAsyncEnumerator();
        try
        {
            while (found.Count < most && await each.MoveNextAsync())
            {
                found.Add(each.Current);
            }
        }
        finally
        {
            await each.DisposeAsync();
        }
#endif
        return found;
    }
}
